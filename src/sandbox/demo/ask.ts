import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../../base/package-path.ts';

export type Answer = { question: string; sql: string; columns: string[]; rows: string[][] };

const questions = ['reviews_by_month', 'score_by_product', 'what_is_missing'] as const;

/** What an analyst would ask the warehouse, each with the SQL that answers it. */
export async function askWarehouse(url: string): Promise<Answer[]> {
  return withClient(url, async (client) => {
    const answers: Answer[] = [];
    for (const name of questions) {
      const sql = (await readFile(packagePath('sql', 'demo', `${name}.sql`), 'utf8')).trim();
      const { fields, rows } = await client.query<(string | null)[]>({ text: sql, rowMode: 'array' });
      answers.push({
        question: name.replaceAll('_', ' '),
        sql,
        columns: fields.map((field) => field.name),
        rows: rows.map((row) => row.map((cell) => cell ?? '')),
      });
    }
    return answers;
  });
}

/**
 * The count of some records at one end, and a hash of their keys: equal hashes mean the same records, not only as many.
 */
export type End = { what: string; where: string; count: number; keys: string };

const ends: Readonly<Record<'service' | 'warehouse', readonly [what: string, keys: string][]>> = {
  service: [
    ['orders', 'select code as key from reference_service.orders'],
    ['sub-orders', 'select id::text as key from reference_service.sub_orders'],
    ['reviews', 'select id::text as key from reference_service.reviews'],
  ],
  warehouse: [
    ['sub-orders', 'select sub_order_id::text as key from sync.sub_order_links'],
    ['reviews', 'select id::text as key from warehouse.reviews where deleted_at is null'],
  ],
};

/** Counts orders, sub-orders and reviews at their source and at their destination. */
export async function countEnds(urls: Record<'shop' | keyof typeof ends, string>, shopOrders: string): Promise<End[]> {
  // An order that the shop has deleted is not pushed; not every shop's query tells of such orders.
  const alive = `select code as key from (${shopOrders}) q where to_jsonb(q) ->> 'deleted_at' is null`;
  const counted: End[] = [];
  for (const [where, asked] of Object.entries({ shop: [['orders', alive]] as const, ...ends })) {
    await withClient(urls[where as keyof typeof urls], async (client) => {
      for (const [what, keys] of asked) {
        const { rows } = await client.query<{ count: string; keys: string }>(
          `select count(*) as count, md5(coalesce(string_agg(key, ',' order by key collate "C"), '')) as keys from (${keys}) k`,
        );
        counted.push({ what, where, count: Number(rows[0]?.count), keys: rows[0]?.keys ?? '' });
      }
    });
  }
  return counted;
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => String } });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
