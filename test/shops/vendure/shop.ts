import { join } from 'node:path';
import { installShop } from '../install.ts';
import { startServer } from '../processes.ts';
import type { Shop } from '../shop.ts';
import { type Api, openApi, type Row } from './api.ts';
import { openOrders } from './orders.ts';

/** The database that Vendure works on, and the address for a user who may only read it. */
export type VendureDatabase = {
  preset: 'vendure' | 'vendure-mysql';
  url: string;
  readerUrl(): Promise<string>;
  /** Zone of Vendure's process. */
  timeZone: string;
  /** SHOP_TIME_ZONE, where `init` cannot know it. */
  shopTimeZone?: string;
  port: number;
};

/** A Vendure that is up, with the addresses of its two APIs. */
export type Vendure = Shop & {
  admin: Api;
  /** A visitor of the shop, who is logged in as nobody. */
  visitor(): Api;
};

/** Installs and starts the real Vendure in a process of its own. */
export async function startVendure(database: VendureDatabase): Promise<Vendure> {
  const { preset, url, timeZone, shopTimeZone, port } = database;
  await installShop(import.meta.dirname);
  const close = await startServer([join(import.meta.dirname, 'server.js')], {
    cwd: import.meta.dirname,
    environment: { DATABASE_URL: url, PORT: String(port), TZ: timeZone, VENDURE_DISABLE_TELEMETRY: 'true' },
    ready: 'ready',
    seconds: 300,
  });
  const address = `http://127.0.0.1:${port}`;
  const admin = openApi(`${address}/admin-api`);
  await admin.call('mutation { login(username: "superadmin", password: "superadmin") { __typename } }');
  return {
    preset,
    databaseUrl: await database.readerUrl(),
    ...(shopTimeZone && { timeZone: shopTimeZone }),
    admin,
    visitor: () => openApi(`${address}/shop-api`),
    products: async () =>
      (await admin.call('query { products(options: { take: 1000 }) { items { id } } }')).items.map(({ id }: Row) => id),
    orders: openOrders(admin),
    close,
  };
}
