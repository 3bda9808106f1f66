import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { freePort } from '../../src/sandbox/embedded-postgres/index.ts';
import { ShopUnavailable } from './install.ts';
import { startMariadb } from './mariadb.ts';
import { outputOf, startServer } from './processes.ts';

/** A form as PHP reads it: nested values become `name[key]`. */
export type Form = { readonly [name: string]: string | number | Form | readonly (string | number | Form)[] };

// biome-ignore lint/suspicious/noExplicitAny: rows of tables that we did not make
export type Row = Record<string, any>;

/** The fields of a form that is written as a query: `a=1&b=`. */
export const formOf = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));

/** A copy of a shop's PHP source that is served, on a MariaDB of its own. */
export type PhpShop = Awaited<ReturnType<typeof openPhpShop>>;

/**
 * Copies a shop's source and starts a database for it, in another zone than the shop's.
 *
 * @param folder the one that holds `index.php`; from the environment, since a source is brought by the person who runs
 *   the test.
 * @throws ShopUnavailable where there is no PHP or no MariaDB.
 */
export async function openPhpShop(folder: string) {
  await using opened = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), 'review-sync-php-'));
  opened.defer(() => rm(root, { recursive: true, force: true }));
  await cp(folder, root, { recursive: true });
  const database = await startMariadb('shop', 'America/New_York');
  opened.defer(() => database.close());
  const connection = await mysql.createConnection({ uri: database.url, dateStrings: true });
  opened.defer(() => connection.end());
  const port = await freePort();
  const settings = ['-d', 'display_errors=0', '-d', `mysqli.default_port=${new URL(database.url).port}`];
  const place = { cwd: root, environment: { PHP_CLI_SERVER_WORKERS: '2' }, program: 'php' };
  const php = (...args: string[]) => outputOf([...settings, ...args], place);
  await php('-v').catch(() => {
    throw new ShopUnavailable(
      'There is no php on the path (on Debian: php-cli php-mysql php-curl php-gd php-mbstring).',
    );
  });
  const all = opened.move();
  return {
    root,
    port,
    database,
    /** Runs PHP with the settings of the server. */
    php,
    /** Rows of a statement. Dates are texts, as they are stored. */
    async rows(statement: string, values: readonly unknown[] = []): Promise<Row[]> {
      return (await connection.query(statement, [...values]))[0] as Row[];
    },
    /** Serves the copy. To be called once it is ready. */
    async serve() {
      const args = [...settings, '-S', `127.0.0.1:${port}`, '-t', root];
      all.defer(await startServer(args, { ...place, ready: 'started', seconds: 60 }));
    },
    close: () => all.disposeAsync(),
  };
}

/** One visitor of a PHP shop, with cookies. Redirects are not followed. */
export function openBrowser(port: number) {
  const base = `http://127.0.0.1:${port}`;
  const cookies = new Map<string, string>();
  return async (path: string, form?: Form, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(base + path, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: {
        cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
        'user-agent': 'test',
        ...(form && { origin: base, 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form && { body: encodeForm(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return await response.text();
  };
}

/** As PHP's `http_build_query` writes it. @param clean what the shop does to each name and value. */
export function encodeForm(form: Form, clean = (text: string) => text): string {
  const pairs = (name: string, value: Form[string]): [string, string][] =>
    typeof value === 'object'
      ? Object.entries(value).flatMap(([key, one]) => pairs(`${name}[${clean(key)}]`, one))
      : [[name, clean(String(value))]];
  const all = Object.entries(form).flatMap(([name, value]) => pairs(clean(name), value));
  return new URLSearchParams(all).toString().replaceAll('*', '%2A');
}
