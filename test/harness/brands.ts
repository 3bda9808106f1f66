import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagePath } from '../../src/base/package-path.ts';
import { runCli } from './cli.ts';
import { createDatabase, forgetDatabase, queryAgain } from './database.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type Brands = Awaited<ReturnType<typeof openBrands>>;

/** Brands with a shop and a service each, and one warehouse for all of them, which `migrate` has not seen yet. */
export async function openBrands(
  names: readonly string[],
  options: WorldOptions = {},
  special: Record<string, WorldOptions> = {},
) {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'brands-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const warehouseUrl = await createDatabase();
  opened.defer(() => forgetDatabase(warehouseUrl));
  const worlds: Record<string, World> = {};
  for (const name of names) {
    worlds[name] = opened.use(await openWorld({ ...options, ...special[name] }));
    await cp(packagePath('sql', 'shop'), join(folder, name), { recursive: true });
  }
  const environment: Record<string, string> = {
    BRANDS_DIR: folder,
    WAREHOUSE_DATABASE_URL: warehouseUrl,
    REVIEW_YEARS_FROM: '2022',
    LOG_LEVEL: 'warn',
    ...options.environment,
  };
  /** Writes the file of a brand, with these variables over its usual ones. */
  const write = async (name: string, variables: Record<string, string> = {}) => {
    const { shopUrl, serviceUrl } = worlds[name] ?? {};
    const client = { REVIEW_API_CLIENT_ID: 'demo', REVIEW_API_CLIENT_SECRET: 'demo' };
    const usual = { SHOP_DATABASE_URL: shopUrl, REVIEW_API_BASE_URL: serviceUrl, ...client };
    const all = { ...usual, ...special[name]?.environment, ...variables };
    const lines = Object.entries(all).map(([variable, value]) => `${variable}=${value}\n`);
    await writeFile(join(folder, `${name}.env`), lines.join(''), { mode: 0o600 });
  };
  for (const name of names) await write(name);
  const all = opened.move();
  return {
    /** The folder of BRANDS_DIR. */
    folder,
    warehouseUrl,
    /** What the command line needs to work with all brands. */
    environment,
    /** The shop and the service of each brand. Its own warehouse is not used. */
    worlds,
    write,
    /** Runs a command to its end for these brands. The first argument may be several words. */
    cli: (...[words = '', ...more]: string[]) => runCli([...words.split(' '), ...more], environment),
    warehouse: <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
      queryAgain<Row>(environment.WAREHOUSE_DATABASE_URL ?? '', text, values),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
