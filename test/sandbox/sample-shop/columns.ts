import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { replaceParameter } from '../../../src/shop/sql-text.ts';

/** The contract, "Shop queries": every column with its type, and those that must never be null. */
export const contract = {
  orders: {
    types: {
      code: 'text',
      created_at: 'timestamp with time zone',
      total_price: 'numeric',
      user_code: 'text',
      user_name: 'text',
      user_phone: 'text',
      user_email: 'text',
      user_grade_code: 'text',
      store_name: 'text',
      order_device: 'text',
      mileage: 'integer',
      deleted_at: 'timestamp with time zone',
    },
    required: ['code', 'created_at', 'total_price'],
  },
  order_lines: {
    types: {
      order_code: 'text',
      line_code: 'text',
      product_id: 'bigint',
      product_code: 'text',
      price: 'numeric',
      status: 'text',
      delivery_started_at: 'timestamp with time zone',
      delivered_at: 'timestamp with time zone',
      invoice: 'text',
      delivery_service: 'text',
      product_options: 'jsonb',
    },
    required: ['order_code', 'line_code', 'price'],
  },
  changed_orders: {
    types: { code: 'text', changed_at: 'timestamp with time zone' },
    required: ['code', 'changed_at'],
  },
  categories: {
    types: { code: 'text', name: 'text', parent_code: 'text', status: 'text' },
    required: ['code', 'name'],
  },
  user_grades: {
    types: { code: 'text', name: 'text', icon_url: 'text' },
    required: ['code', 'name'],
  },
} as const;

export type ShopQuery = keyof typeof contract;

/**
 * Runs the query as review-sync does, in brackets; gives its columns with their types, and its rows. `since`: an
 * instant, for changed_orders.sql.
 */
export async function runShopQuery<Row extends pg.QueryResultRow>(
  client: pg.Client,
  file: string,
  since = '-infinity',
) {
  const { text, count } = replaceParameter(await readFile(file, 'utf8'), 'since', '$1::timestamptz', 'postgres');
  const { rows, fields } = await client.query<Row>(`select * from (${text}\n) q`, count > 0 ? [since] : []);
  const named = await client.query<{ name: string }>(
    'select format_type(oid, null) as name from unnest($1::oid[]) with ordinality as u (oid, place) order by place',
    [fields.map((field) => field.dataTypeID)],
  );
  const types = Object.fromEntries(fields.map((field, index) => [field.name, named.rows[index]?.name]));
  return { rows, types };
}
