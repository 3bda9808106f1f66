import { join } from 'node:path';
import { installShop } from '../install.ts';
import { runProgram, startServer } from '../processes.ts';
import type { Shop } from '../shop.ts';
import { type Api, openAdmin, type Row } from './api.ts';
import { openOrders } from './orders.ts';

export type MedusaDatabase = {
  url: string;
  /** Address for a user who may only read; asked for once the tables are there. */
  readerUrl(): Promise<string>;
  port: number;
};

export type Medusa = Shop & { url: string; admin: Api };

const medusa = join(import.meta.dirname, 'node_modules', '@medusajs', 'cli', 'cli.js');
const user = { email: 'admin@example.com', password: 'secret-123' };

/** Installs the real Medusa, makes its tables and starts it in a process of its own, without Redis. */
export async function startMedusa({ url, readerUrl, port }: MedusaDatabase): Promise<Medusa> {
  const cwd = import.meta.dirname;
  await installShop(cwd);
  const environment = { DATABASE_URL: url, MEDUSA_DISABLE_TELEMETRY: 'true', NODE_ENV: 'production' };
  for (const args of [['db:migrate'], ['user', '-e', user.email, '-p', user.password]]) {
    const { status, output } = await runProgram([medusa, ...args], { cwd, environment });
    if (status !== 0) throw new Error(`medusa ${args[0]} ended with status ${status}:\n${output.slice(-3000)}`);
  }
  const close = await startServer([medusa, 'start', '--host', '127.0.0.1', '--port', String(port)], {
    cwd,
    environment,
    ready: 'Server is ready',
    seconds: 600,
  });
  const address = `http://127.0.0.1:${port}`;
  const admin = await openAdmin(address, user.email, user.password);
  return {
    preset: 'medusa',
    databaseUrl: await readerUrl(),
    url: address,
    admin,
    products: async () => (await admin.get('/admin/products?limit=1000')).products.map(({ id }: Row) => id),
    orders: openOrders(admin),
    close,
  };
}
