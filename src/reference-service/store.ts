import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../package-root.ts';

export type Store = {
  /** Runs one statement and gives its rows. */
  rows<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs the statements of `work` in one transaction. */
  transaction<T>(work: (rows: Store['rows']) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

export type StoreOptions = { databaseUrl: string; timeZone: string; moneyUnit: 'hundredths' | 'whole' };

/** Opens the service's database and brings its schema up to date. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const unit = options.moneyUnit === 'whole' ? 1 : 100;
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: 8,
    // Postgres does all that has to do with zones: it prints and reads in the session's.
    options: `-c timezone=${options.timeZone} -c reference_service.money_unit=${unit}`,
    types: {
      getTypeParser: (oid, format) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
    },
  });
  pool.on('error', () => {});
  await migrate(pool);
  return {
    rows: async (text, values = []) => (await pool.query(text, values)).rows,
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('begin');
        const result = await work(async (text, values = []) => (await client.query(text, values)).rows);
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

async function migrate(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(hashtext('reference_service'))`);
    await client.query('create table if not exists public.reference_service_migrations (name text primary key)');
    const { rows } = await client.query<{ name: string }>('select name from public.reference_service_migrations');
    const folder = packagePath('sql', 'reference-service');
    for (const name of (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()) {
      if (rows.some((row) => row.name === name)) continue;
      await client.query(await readFile(`${folder}/${name}`, 'utf8'));
      await client.query('insert into public.reference_service_migrations values ($1)', [name]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
