import pg from 'pg';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { type Findings, live } from './live.ts';
import { startMariadb } from './mariadb.ts';
import { startMedusa } from './medusa/medusa.ts';
import { startOpencart } from './opencart.ts';
import { openReviewSync } from './review-sync.ts';
import type { Shop, Step } from './shop.ts';
import { startVendure } from './vendure/vendure.ts';
import { startYoungcart } from './youngcart.ts';

type Start = (database: EmbeddedDatabase) => Promise<[Shop, Step[]]>;
/** The variable names a folder with the source of a shop that no registry has. */
type Source = { variable: string; what: string };

const starts: Record<string, Start> = {
  'vendure-postgres': async (database) => {
    const url = await database.createDatabase('vendure');
    // Vendure's process and its database in two zones, as the preset's README describes.
    await runSql(url, "alter database vendure set timezone = 'America/New_York'");
    const timeZone = 'Asia/Kolkata';
    return startVendure({
      preset: 'vendure',
      url,
      readerUrl: () => createReader(url),
      timeZone,
      shopTimeZone: timeZone,
    });
  },
  'vendure-mariadb': async () => {
    // On MySQL Vendure's process writes UTC, whatever its own zone and that of the database are.
    const server = await startMariadb('vendure', 'Asia/Kolkata');
    const { url, readerUrl } = server;
    const [shop, life] = await startVendure({ preset: 'vendure-mysql', url, readerUrl, timeZone: 'America/New_York' });
    return [{ ...shop, close: () => shop.close().then(() => server.close()) }, life];
  },
  'medusa-postgres': async (database) => {
    const url = await database.createDatabase('medusa');
    return startMedusa(url, () => createReader(url));
  },
};

const fromSource: [name: string, source: Source, start: (folder: string) => ReturnType<Start>][] = [
  ['opencart-mariadb', { variable: 'OPENCART_SOURCE', what: '`upload` of OpenCart 4.1' }, startOpencart],
  ['youngcart-mariadb', { variable: 'YOUNGCART_SOURCE', what: 'gnuboard5 5.6 with Youngcart' }, startYoungcart],
];

/**
 * The shops that `npm run test:shops` tries. `run` throws ShopUnavailable if the shop cannot be had here.
 *
 * `source`: without a folder that its variable names, the shop is skipped.
 */
export const shops: readonly { name: string; source?: Source; run(): Promise<Findings> }[] = [
  ...Object.entries(starts).map(([name, start]) => ({ name, run: () => tryShop(name, start) })),
  ...fromSource.map(([name, source, start]) => {
    const run = () => tryShop(name, () => start(process.env[source.variable] ?? ''));
    return { name, source, run };
  }),
];

async function tryShop(name: string, start: Start): Promise<Findings> {
  await using opened = new AsyncDisposableStack();
  const database = await startEmbeddedDatabase();
  opened.defer(() => database.close());
  const [shop, steps] = await start(database);
  opened.defer(() => shop.close());
  const sync = await openReviewSync(name.replaceAll('-', '_'), database, shop);
  opened.defer(() => sync.close());
  return await live(shop, sync, steps);
}

/** A user who may only read, as docs/connecting.md asks for. */
async function createReader(url: string): Promise<string> {
  await runSql(
    url,
    `create role reader login password 'reader'; grant usage on schema public to reader;
     grant select on all tables in schema public to reader`,
  );
  return Object.assign(new URL(url), { username: 'reader', password: 'reader' }).href;
}

async function runSql(url: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statements);
  await client.end();
}
