/** Node reads NODE_EXTRA_CA_CERTS when the process starts, before .env is read. */
const nameAuthority =
  'name the file of its authority in NODE_EXTRA_CA_CERTS, in the environment of the process and not in .env';

/**
 * Errors of Node, TLS, Postgres, MySQL, Redis and undici, by code, or by message if they have no code. The first
 * match counts. Only errors that a test or an outage has shown; all others are shown with the message of their driver.
 * `{address}` in a hint stands for the variable that holds the address.
 */
const known: readonly [pattern: RegExp, what: string | undefined, hint: string][] = [
  [
    /^CERT_HAS_EXPIRED/,
    'the certificate of the server has expired',
    'let its owner renew it; or set the clock of this machine',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID/,
    'the certificate of the server is for another host name',
    'use the host name of the certificate in {address}',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_)/,
    'this machine does not trust the certificate of the server (self-signed, or its chain is not sent)',
    `${nameAuthority}, or let the server send a public certificate with its chain`,
  ],
  [
    /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO)|packet length too long|wrong version number/,
    'the server does not speak TLS at this port',
    'use http:// or redis:// in {address}, or the port that has TLS',
  ],
  [/plain HTTP request was sent to HTTPS port/, 'the server requires TLS at this port', 'use https:// in {address}'],
  [
    /^Received unexpected \w+ message from backend/,
    'the server at this port is not a Postgres',
    'correct the port in {address}; the address of a MySQL or MariaDB begins with mysql://',
  ],
  [/^28P01$|^WRONGPASS/, 'user or password is wrong', 'correct them in {address}'],
  [/^ER_ACCESS_DENIED_/, 'the server refuses this user, or its password is wrong', 'correct them in {address}'],
  [/^HANDSHAKE_SSL_ERROR$/, undefined, `${nameAuthority}, or write ssl=no-verify in {address}`],
  [/SASL.*password must be a string|^NOAUTH/, 'the server requires a password', 'add it to {address}'],
  [
    /^28[0-9A-Z]{3}$/,
    'the server refuses this user from this machine',
    'correct user and password in {address}, add ?sslmode=require, or let the server accept them (pg_hba.conf)',
  ],
  [/^42501$|^NOPERM/, undefined, 'grant the user this right, or migrate and run as the same user'],
  [/^relation "(sync|warehouse|bi)[_.]/, undefined, 'restore it: after review-sync migrate all orders would be new'],
  [/^42P06$/, undefined, 'name a database without a schema of this name in {address}'],
  [/^(53100|ENOSPC)$|No space left on device/, 'the disk is full', 'free space; the next run continues'],
  [/^(EACCES|EPERM|EROFS)$/, 'this user has no right to do that', 'give it the right, or name another place'],
  [/^53200$|^OOM /, 'the memory of the server is full', 'give it more memory; the next run continues'],
  [
    /^53300$|remaining connection slots|too many clients|max number of clients reached/,
    'the server has no free connection',
    'raise max_connections of the server at {address}, or run fewer processes',
  ],
  [/^25006$|^READONLY/, 'the server is a standby or read-only', 'name the primary in {address}, or free its disk'],
  [/^57P0[13]$|^LOADING/, 'the server is starting or stopping', 'wait until the server at {address} is up'],
  [/^57014$/, 'the statement took too long', 'find out why: a missing index, a lock, an overloaded server'],
  [/^40P01$/, 'two processes waited for each other', 'nothing is lost: run it again'],
  [/^55P03$/, 'another session holds a lock on the table', 'let it finish, or end that session'],
  [
    /unsupported startup parameter|^function add_job\(|^relation "scheduler"/,
    'a pooler drops our startup options',
    'name the Postgres server itself in QUEUE_URL; for the warehouse, let the pooler ignore the parameter',
  ],
  [/^ECONNREFUSED/, 'nothing listens there', 'start the server, or correct host and port in {address}'],
  [
    /^(ENOTFOUND|EAI_AGAIN)/,
    'the host name cannot be resolved',
    'correct the host name in {address} (in a password, @ is %40 and / is %2F), or check the name server of this machine',
  ],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)/,
    'no connection to the server',
    'open the firewall, or correct host and port in {address}',
  ],
  [
    /^(UND_ERR_(HEADERS|BODY)_TIMEOUT|SERVER_SILENT)|^(Connection terminated due to connection timeout|timeout e|Socket t)/,
    'the server does not respond',
    'check whether it hangs or is overloaded, and whether host and port in {address} are right',
  ],
  [
    /^(ECONNRESET|EPIPE|PROTOCOL_CONNECTION_LOST|ER_CONNECTION_KILLED|UND_ERR_SOCKET|UND_ERR_CLOSED|Connection is closed|Connection terminated|Client .* is not queryable|socket hang up)/,
    'the server closed the connection',
    'check whether the server at {address} restarts, whether a proxy ends connections, and whether the port is right (TLS or not)',
  ],
];

/** The variable with the address of each system. */
export const addresses = {
  shop: 'SHOP_DATABASE_URL',
  warehouse: 'WAREHOUSE_DATABASE_URL',
  queue: 'QUEUE_URL (without it WAREHOUSE_DATABASE_URL)',
  'folder of the brands': 'BRANDS_DIR',
} as const;

/** What is wrong (undefined if the message is plain) and the next step, from the error or its first known cause. */
export function explainError(error: unknown, { causes = true, address = 'its address' } = {}) {
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = causes ? at.cause : undefined) {
    seen.add(at);
    // A host name with several addresses fails with an AggregateError. Its parts hold the reason.
    const first = at instanceof AggregateError && at.errors[0] instanceof Error ? at.errors[0] : at;
    const code = 'code' in first && typeof first.code === 'string' ? first.code : undefined;
    // Errors of this program have codes in lower case and plain messages. Their causes may not.
    if (code !== undefined && /^[a-z]/.test(code)) continue;
    const found = known.find(([pattern]) => (code !== undefined && pattern.test(code)) || pattern.test(first.message));
    if (found) return { what: found[1], hint: found[2].replaceAll('{address}', address) };
  }
  return undefined;
}
