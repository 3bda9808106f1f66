import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagePath } from '../../src/base/package-path.ts';
import { queryAgain } from './database.ts';

/** A shop of two plain tables, for tests that change single orders and lines. */
export const orderShopSchema = `
  create table o (
    code text, created_at timestamptz not null default now() - interval '1 hour',
    updated_at timestamptz not null default now() - interval '1 hour', total_price numeric not null default 100,
    user_code text, user_phone text, user_email text, order_device text, deleted_at timestamptz
  );
  create table l (
    order_code text, line_code text, product_id bigint, product_code text, price numeric not null default 10,
    status text default 'paid', invoice text, product_options jsonb default '{}'
  )`;

export async function createOrderShop(url: string): Promise<void> {
  await queryAgain(url, orderShopSchema);
}

/** Queries by the name of their file, such as `changed_orders`. */
type Queries = Readonly<Record<string, string>>;

/** A folder with the queries of the two tables, and with these. */
export async function orderShopQueries(queries: Queries = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-queries-'));
  const lines = 'select * from l; -- as people end their queries\n';
  await writeQueries(folder, { orders: 'select * from o', order_lines: lines, ...queries });
  return folder;
}

/** @param folder the SHOP_SQL_DIR of a world. */
export async function writeQueries(folder: string | undefined, queries: Queries): Promise<void> {
  for (const [name, text] of Object.entries(queries)) await writeFile(join(folder ?? '', `${name}.sql`), text);
}

/**
 * A folder with the queries of the sample shop, some of them replaced.
 *
 * @param edit what becomes of the text of a query, such as `changed_orders`.
 */
export async function sampleShopQueries(edit: Record<string, (sql: string) => string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-queries-'));
  await cp(packagePath('sql', 'shop'), folder, { recursive: true });
  for (const [name, change] of Object.entries(edit)) {
    const file = join(folder, `${name}.sql`);
    await writeFile(file, change(await readFile(file, 'utf8')));
  }
  return folder;
}

/** Every order at the service with its sub-orders, without what may differ between two equal ends: ids and times. */
export const serviceState = `
  select o.code, o.total_price::text, o.user_email, o.user_phone,
    coalesce((
      select jsonb_agg(jsonb_build_array(s.product_id, s.price, s.product_options, s.status, s.invoice)
        order by s.product_id, s.price, s.product_options, s.status, s.invoice)
      from reference_service.sub_orders s where s.order_id = o.id
    ), '[]') as sub_orders
  from reference_service.orders o order by o.code`;
