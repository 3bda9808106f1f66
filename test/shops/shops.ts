import pg from 'pg';
import { type EmbeddedDatabase, freePort, startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { type Findings, live } from './live.ts';
import { openReviewSync } from './review-sync.ts';
import type { Shop, Step } from './shop.ts';
import { stockVendure } from './vendure/goods.ts';
import { lifeInVendure } from './vendure/life.ts';
import { startVendure } from './vendure/shop.ts';

/** The shops that `npm run test:shops` tries. `run` throws ShopUnavailable where it cannot be had here. */
export const shops: readonly { name: string; run(name: string): Promise<Findings> }[] = [
  {
    name: 'vendure-postgres',
    run: (name) =>
      tryShop(name, async (database) => {
        const url = await database.createDatabase('vendure');
        // Vendure's process and its database in two zones, as the preset's README describes.
        await runSql(url, "alter database vendure set timezone = 'America/New_York'");
        const port = await freePort();
        const vendure = await startVendure({
          preset: 'vendure',
          url,
          readerUrl: () => createReader(url),
          timeZone: 'Asia/Kolkata',
          port,
        });
        return [vendure, lifeInVendure(vendure, await stockVendure(vendure.admin))];
      }),
  },
];

async function tryShop(
  name: string,
  start: (database: EmbeddedDatabase) => Promise<[Shop, Step[]]>,
): Promise<Findings> {
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
