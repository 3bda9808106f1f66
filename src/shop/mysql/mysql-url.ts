import { UsageError } from '../../base/errors.ts';

export type ConnectionOptions = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  socketPath?: string;
  ssl?: { rejectUnauthorized: boolean; verifyIdentity: boolean };
};

/**
 * The parts of `mysql://user:password@host:port/database`. Parameters: `ssl=true` (TLS, certificate and host name are
 * checked), `ssl=no-verify` (TLS, nothing is checked), `ssl=false` (the default), `socket=/path` of a server on this
 * machine.
 *
 * @throws UsageError for any other parameter, and if there is no database name. It does not show the URL, which may
 *   have a password.
 */
export function connectionOptions(url: string): ConnectionOptions {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const options: ConnectionOptions = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || '3306'),
    user: decoded(username),
    password: decoded(password),
    database: decoded(pathname.slice(1)),
  };
  if (options.database === '') {
    throw new UsageError('SHOP_DATABASE_URL names no database', {
      hint: 'Add it after the host: mysql://user:password@host:3306/database.',
    });
  }
  for (const [name, value] of searchParams) {
    if (name === 'socket') options.socketPath = value;
    else if (name === 'ssl' && value === 'true') options.ssl = { rejectUnauthorized: true, verifyIdentity: true };
    else if (name === 'ssl' && value === 'no-verify')
      options.ssl = { rejectUnauthorized: false, verifyIdentity: false };
    else if (!(name === 'ssl' && value === 'false')) {
      throw new UsageError(`SHOP_DATABASE_URL has the parameter ${name}, which is not known, or not with this value`, {
        hint: 'Known are ssl=true, ssl=no-verify, ssl=false and socket=/path/to/mysqld.sock.',
      });
    }
  }
  return options;
}

/** A `%` without an escape stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
