import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../../src/base/package-path.ts';

/** A body of `POST /v1/reviews`. */
export type OlistReview = {
  code: string;
  created_at: string;
  message: string;
  score?: number;
  user_code?: string;
  /** Both left out where the order has no item. */
  product_id?: number;
  product_code?: string;
};

const rowsAtOnce = 5000;

/** The reviews of a database that `loadOlist` filled, in the order of the file. */
export async function* olistReviews(databaseUrl: string): AsyncGenerator<OlistReview> {
  const statement = await readFile(packagePath('examples', 'olist', 'reviews.sql'), 'utf8');
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // The offset of the written times: Brazil still had daylight saving then.
    await client.query(`set time zone 'America/Sao_Paulo'`);
    let after = 0;
    for (;;) {
      const { rows } = await client.query<{ row_no: number; body: OlistReview }>(statement, [after, rowsAtOnce]);
      for (const { body } of rows) yield body;
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsAtOnce) return;
      after = last.row_no;
    }
  } finally {
    await client.end();
  }
}
