import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../../base/package-path.ts';

export type Store = {
  /** Runs one statement and gives its rows. */
  rows<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs the statements of `work` in one transaction. */
  transaction<T>(work: (rows: Store['rows']) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/** How the service prints its rows; Postgres reads it as settings of the session. */
export type StoreOptions = {
  databaseUrl: string;
  timeZone: string;
  moneyUnit: 'hundredths' | 'whole';
  currency: string;
  reviewOptionsForm: 'default' | 'v2';
  /** Whether its writes emit events. */
  emits?: boolean;
};

/** Opens the service's database and brings its schema up to date. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const settings = {
    timezone: options.timeZone,
    'reference_service.money_unit': options.moneyUnit === 'whole' ? 1 : 100,
    'reference_service.currency': options.currency,
    'reference_service.review_options_form': options.reviewOptionsForm,
    'reference_service.emits': options.emits ? 'yes' : 'no',
  };
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    // A new connection costs more than the statements of a request take.
    max: 3,
    // Postgres does all that depends on zones: it prints and reads in the session's zone.
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    types: {
      getTypeParser: (oid, format) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
    },
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  const transactionOnce: Store['transaction'] = async (work) => {
    const client = await pool.connect();
    let broken: Error | undefined;
    try {
      await client.query('begin');
      const result = await work(async (text, values = []) => (await client.query(text, values)).rows);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch((reason: Error) => {
        broken = reason;
      });
      throw error;
    } finally {
      client.release(broken);
    }
  };
  const transaction: Store['transaction'] = (work) => withoutDeadlock(() => transactionOnce(work));
  try {
    await transaction(migrate);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    rows: (text, values = []) => withoutDeadlock(async () => (await pool.query(text, values)).rows),
    transaction,
    close: () => pool.end(),
  };
}

/** If two transactions wait for each other, Postgres rolls one of them back. That one is run again. */
async function withoutDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01' || attempt === 10) throw error;
    }
  }
}

async function migrate(rows: Store['rows']): Promise<void> {
  await rows(`select pg_advisory_xact_lock(hashtext('reference_service'))`);
  await rows('create schema if not exists reference_service');
  await rows('create table if not exists reference_service.migrations (name text primary key)');
  const done = await rows<{ name: string }>('select name from reference_service.migrations');
  const folder = packagePath('sql', 'reference-service');
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()) {
    if (done.some((row) => row.name === name)) continue;
    await rows(await readFile(`${folder}/${name}`, 'utf8'));
    await rows('insert into reference_service.migrations values ($1)', [name]);
  }
}
