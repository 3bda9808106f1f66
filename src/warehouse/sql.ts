import type pg from 'pg';

/** The warehouse or a transaction in it. It is the first parameter of functions that write, so that rows and cursor can share one. */
export type Db = {
  /** Sends a statement, on any connection or on that of the transaction. Without values it may be several statements. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Result<Row>>;
  /** Runs `work` in a transaction, which is rolled back when `work` rejects. A transaction has none within it. */
  transaction<T>(work: (trx: Db) => Promise<T>): Promise<T>;
};

/** `changed`: how many rows the statement inserted, updated or deleted. */
export type Result<Row> = { rows: Row[]; changed: number };

/** A statement, or a part of one. */
export class Sql<Row = unknown> {
  readonly texts: readonly string[];
  /** What stands between the texts. */
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.texts = texts;
    this.values = values;
  }

  execute(db: Db): Promise<Result<Row>> {
    const parameters: unknown[] = [];
    return db.query<Row>(textOf(this, parameters), parameters);
  }
}

/** The text of the statement. Its parameters are added to `parameters`. */
function textOf({ texts, values }: Sql, parameters: unknown[]): string {
  const parts = values.map((value) =>
    value instanceof Sql ? textOf(value, parameters) : `$${parameters.push(value)}`,
  );
  return texts.map((text, index) => text + (parts[index] ?? '')).join('');
}

/**
 * A statement as a template: each value becomes a parameter, each part made by `sql` becomes text.
 *
 * @example
 * const { rows } = await sql<{ id: number }>`select id from sync.runs where job = ${job}`.execute(db);
 */
export const sql = <Row>(texts: TemplateStringsArray, ...values: readonly unknown[]) => new Sql<Row>(texts, values);

/** Opens the warehouse on a pool of connections. */
export function openDb(pool: pg.Pool): Db {
  return {
    async query(text, values = []) {
      const client = await pool.connect();
      try {
        return await send(client, text, values);
      } finally {
        // Not pool.query, which closes the connection after an error of the statement.
        client.release();
      }
    },
    async transaction(work) {
      const client = await pool.connect();
      let isOver = false;
      try {
        await client.query('begin');
        const result = await work(transactionOn(client));
        const { command } = await client.query('commit');
        isOver = true;
        if (command === 'ROLLBACK') throw new Error('a statement of the transaction had failed: it was rolled back');
        return result;
      } catch (error) {
        if (!isOver) isOver = await isRolledBack(client);
        throw error;
      } finally {
        // Closing the connection ends a transaction that is not over.
        client.release(!isOver);
      }
    },
  };
}

const transactionOn = (client: pg.PoolClient): Db => ({
  query: (text, values = []) => send(client, text, values),
  transaction: () => Promise.reject(new Error('a transaction has no transaction within it')),
});

async function send<Row>(client: pg.PoolClient, text: string, values: readonly unknown[]): Promise<Result<Row>> {
  const { rows, rowCount } = await client.query(text, [...values]);
  return { rows, changed: rowCount ?? 0 };
}

const isRolledBack = (client: pg.PoolClient): Promise<boolean> =>
  client.query('rollback').then(
    () => true,
    () => false,
  );
