import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * `instants`: the shop writes dates with zone; `local`: it writes the clock on its wall, which repeats an hour a year.
 */
export type ShopDates = 'instants' | 'local';

/** Which query shows changes: changed_orders.sql, or updated_at in orders.sql. */
export type ShopFeed = 'feed' | 'updated_at';

/**
 * A shop of few tables and no constraint, so that odd data is possible. `stamp` turns a moment into what the shop
 * writes, and `moment` turns that back.
 */
export function shopSchema(dates: ShopDates, zone: string): string {
  const type = dates === 'instants' ? 'timestamptz' : 'timestamp';
  const zoned = dates === 'instants' ? '$1' : `$1 at time zone '${zone}'`;
  return `
    create function stamp(timestamptz) returns ${type} language sql immutable return ${zoned};
    create function moment(${type}) returns timestamptz language sql immutable return ${zoned};
    create table orders (
      code text, placed_at ${type}, changed_at ${type}, total numeric, member text, name text, phone text, email text,
      grade text, store text, device text, points integer, removed_at ${type}
    );
    create index on orders (code);
    create table lines (
      order_code text, line_code text, product_code text, price numeric, status text, sent_at ${type}, delivered_at ${type},
      invoice text, carrier text, options jsonb, changed_at ${type}
    );
    create index on lines (order_code);
    create table categories (code text primary key, name text, parent text, status text);
    create table grades (code text primary key, name text, icon text);
    create table gone_orders (like orders);
    create table gone_lines (like lines);
    create table backup_orders (like orders);
    create table backup_lines (like lines);
    create table counters (name text primary key, value bigint not null);
    insert into counters values ('order', 0)`;
}

const orders = `select code, placed_at as created_at, changed_at as updated_at, total as total_price, member as user_code,
  name as user_name, phone as user_phone, email as user_email, grade as user_grade_code, store as store_name,
  device as order_device, points as mileage, removed_at as deleted_at from orders`;
const lines = `select order_code, line_code, product_code, price, status, sent_at as delivery_started_at, delivered_at, invoice,
  carrier as delivery_service, options as product_options from lines`;
const changes = `select code, changed_at from orders where changed_at >= :since
  union all select order_code, changed_at from lines where changed_at >= :since`;

/** Writes the queries of the shop into a folder. Without a feed, the change of a line moves the date of its order. */
export async function writeShopQueries(feed: ShopFeed): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-shop-'));
  const queries = {
    orders: feed === 'feed' ? orders.replace('changed_at as updated_at, ', '') : orders,
    order_lines: lines,
    categories: 'select code, name, parent as parent_code, status from categories',
    user_grades: 'select code, name, icon as icon_url from grades',
    ...(feed === 'feed' && { changed_orders: changes }),
  };
  for (const [name, text] of Object.entries(queries)) await writeFile(join(folder, `${name}.sql`), text);
  return folder;
}
