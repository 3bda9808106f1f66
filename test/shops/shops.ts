import { type EmbeddedDatabase, startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { query } from '../harness/database.ts';
import { type Findings, live } from './live.ts';
import { startMariadb } from './mariadb.ts';
import { startMedusa } from './medusa/medusa.ts';
import { startOpencart } from './opencart.ts';
import { openReviewSync } from './review-sync.ts';
import type { Shop, Step } from './shop.ts';
import { startVendure } from './vendure/vendure.ts';
import { startYoungcart } from './youngcart.ts';

type Started = Promise<[Shop, Step[]]>;
/**
 * `source`: a variable that names a folder with the source of a shop that no registry has; without it the shop is
 * skipped.
 */
type Tried = { source?: { variable: string; what: string }; start(database: EmbeddedDatabase): Started };

/** The shops that `npm run test:shops` tries, by name. */
export const shops: Readonly<Record<string, Tried>> = {
  'vendure-postgres': {
    async start(database) {
      const url = await database.createDatabase('vendure');
      // Vendure's process and its database in two zones, as the preset's README describes.
      await query(url, "alter database vendure set timezone = 'America/New_York'");
      const timeZone = 'Asia/Kolkata';
      const readerUrl = () => createReader(url);
      return startVendure({ preset: 'vendure', url, readerUrl, timeZone, shopTimeZone: timeZone });
    },
  },
  'vendure-mariadb': {
    async start() {
      // On MySQL Vendure's process writes UTC, whatever its own zone and that of the database are.
      const server = await startMariadb('vendure', 'Asia/Kolkata');
      const { url, readerUrl } = server;
      const [shop, life] = await startVendure({
        preset: 'vendure-mysql',
        url,
        readerUrl,
        timeZone: 'America/New_York',
      });
      return [{ ...shop, close: () => shop.close().then(() => server.close()) }, life];
    },
  },
  'medusa-postgres': {
    async start(database) {
      const url = await database.createDatabase('medusa');
      return startMedusa(url, () => createReader(url));
    },
  },
  'opencart-mariadb': fromSource('OPENCART_SOURCE', '`upload` of OpenCart 4.1', startOpencart),
  'youngcart-mariadb': fromSource('YOUNGCART_SOURCE', 'gnuboard5 5.6 with Youngcart', startYoungcart),
};

function fromSource(variable: string, what: string, start: (folder: string) => Started): Tried {
  return { source: { variable, what }, start: () => start(process.env[variable] ?? '') };
}

/** Starts a shop, lives a life of orders in it, and ends it. @throws ShopUnavailable if it cannot be had here. */
export async function tryShop(name: string, { start }: Tried): Promise<Findings> {
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
  await query(
    url,
    `create role reader login password 'reader'; grant usage on schema public to reader;
     grant select on all tables in schema public to reader`,
  );
  return Object.assign(new URL(url), { username: 'reader', password: 'reader' }).href;
}
