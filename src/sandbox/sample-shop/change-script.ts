/**
 * What happens to a grown sample shop (`growSampleShop`) within three days: changes that move a date of change, changes
 * that move none, late commits, deletions and restored rows. Each change takes orders of its own.
 */
export type ShopChange = {
  name: string;
  /**
   * - `feed`: a branch of sql/shop/changed_orders.sql shows it.
   * - `rescan`: no branch does; the next rescan finds it.
   * - `absence`: the orders are gone; a second rescan, a day later, deletes them at the service unless they returned.
   */
  foundBy: 'feed' | 'rescan' | 'absence';
  /** Its last statement changes one row for each order that the change is about. */
  sql: string;
};

export type ChangeScriptOptions = {
  /** Each change takes one in so many orders; at least 24. */
  every: number;
  /** The changes that only a rescan finds stay within orders of so many days. */
  rescanDays: number;
};

/** Within the last five minutes, so that a run reads changes of all kinds mixed. */
const lately = `clock_timestamp() - random() * interval '5 minutes'`;
const dated = `modified_at = ${lately}`;

export function changeScript({ every, rescanDays }: ChangeScriptOptions): Record<1 | 2 | 3, ShopChange[]> {
  const all = (nth: number) => `order_id between 100000001 and 199999999 and order_id % ${every} = ${nth}`;
  const young = (nth: number) => `${all(nth)} and ordered_at > now() - interval '${rescanDays - 2} days'`;
  const inOrders = (where: string) => `order_id in (select order_id from shop.orders where ${where})`;
  const feed = (name: string, sql: string): ShopChange => ({ name, foundBy: 'feed', sql });
  const rescan = (name: string, sql: string): ShopChange => ({ name, foundBy: 'rescan', sql });
  const absence = (name: string, sql: string): ShopChange => ({ name, foundBy: 'absence', sql });
  const orders = (set: string, where: string) => `update shop.orders set ${set} where ${where}`;
  const items = (set: string, where: string) => `update shop.order_items set ${set} where ${inOrders(where)}`;
  const shipments = (set: string, where: string) => `update shop.shipments set ${set} where ${inOrders(where)}`;
  const addLine = (where: string, date: string) => `
    insert into shop.order_items (order_item_no, order_id, line_no, product_no, unit_price, quantity, item_status, modified_at)
    select order_item_no + 1000000000, order_id, 2, (select max(product_no) from shop.order_items where order_id < 100000000),
      7000, 2, 'N10', ${date}
    from shop.order_items where ${inOrders(where)}`;
  const deleteLine = (where: string, lineNo: number) =>
    `delete from shop.order_items where line_no = ${lineNo} and ${inOrders(where)}`;

  return {
    1: [
      feed('the total changes', orders(`paid_amount = paid_amount + 500, ${dated}`, all(1))),
      feed('the price of a line changes, by its own date', items(`unit_price = unit_price - 100, ${dated}`, all(2))),
      feed(
        'a parcel gets another number, by its own date',
        shipments(`tracking_no = 'N' || order_id, ${dated}`, all(3)),
      ),
      feed('a line is added, by its own date', addLine(all(4), lately)),
      feed('an order is made', copyOrders(all(5), lately)),
      feed('an order is marked as removed', orders(`removed_at = now(), ${dated}`, all(6))),
      rescan('the total changes without a date', orders('paid_amount = paid_amount + 900', young(8))),
      rescan('a line is cancelled without a date', items(`item_status = 'C40'`, young(9))),
      rescan(
        'a parcel arrives without a date',
        shipments(`delivered_at = delivered_at + interval '1 hour'`, young(10)),
      ),
      rescan(
        'a line takes the place of another without a date',
        `${addLine(young(11), `now() - interval '3 days'`)}; ${deleteLine(young(11), 1)}`,
      ),
      rescan('the name of the buyer changes without a date', orders(`buyer_name = 'Renamed'`, young(12))),
      rescan(
        'the order moves to another member without a date',
        orders('member_no = (select max(member_no) from shop.members)', young(13)),
      ),
      rescan(
        'an option is chosen, in a table without a date',
        `insert into shop.order_item_options select order_item_no, '색상', '남색' from shop.order_items where ${inOrders(young(14))}`,
      ),
      rescan(
        'an order is committed three hours late, beyond the overlap',
        copyOrders(young(15), `now() - interval '3 hours'`),
      ),
      rescan('an order is marked as removed without a date', orders('removed_at = now()', young(16))),
      rescan(
        'an order is dated back without a date of change',
        orders(`ordered_at = ordered_at - interval '3 hours'`, young(17)),
      ),
      absence('an order is deleted for less than a day', deleteOrders(young(18))),
      absence('an order is deleted', deleteOrders(young(19))),
    ],
    2: [
      absence('an order that was deleted returns as it was', restoreOrders(all(18))),
      feed('a removal is undone', orders(`removed_at = null, ${dated}`, all(6))),
      rescan('a removal is undone without a date', orders('removed_at = null', young(16))),
      rescan('a line is deleted without a date', deleteLine(young(4), 2)),
    ],
    3: [
      feed('the total goes back to what it was', orders(`paid_amount = paid_amount - 500, ${dated}`, all(1))),
      rescan('orders that were deleted at the service return with their old dates', restoreOrders(all(19))),
    ],
  };
}

/** A transaction that is open while a run reads what is newer, and commits after it. */
export const lateTransaction = ({ every }: ChangeScriptOptions): string =>
  `update shop.orders set buyer_name = 'Late', modified_at = now() where order_id between 100000001 and 199999999 and order_id % ${every} = 7`;

/** Makes new orders like those, with a line each. @param at their dates. */
const copyOrders = (where: string, at: string): string => `
  create table if not exists shop.script_new (like shop.orders);
  truncate shop.script_new;
  insert into shop.script_new
    select (jsonb_populate_record(o, jsonb_build_object(
      'order_id', order_id + 1000000000, 'order_no', order_no || '-2', 'ordered_at', ${at}, 'modified_at', ${at}))).*
    from shop.orders o where ${where};
  insert into shop.orders select * from shop.script_new;
  insert into shop.order_items (order_item_no, order_id, line_no, product_no, unit_price, quantity, item_status, modified_at)
    select order_id, order_id, 1, (select max(product_no) from shop.order_items where order_id < 100000000), 4000, 1, 'N10',
      modified_at
    from shop.script_new`;

/** From the child to the parent: the order in which foreign keys let rows be deleted. */
const tables = ['order_item_options', 'order_items', 'shipments', 'orders'] as const;

/** Deletes the rows of these orders, and keeps them in tables that no query reads. */
function deleteOrders(where: string): string {
  const gone = 'order_id in (select order_id from shop.script_gone)';
  const rows = (table: (typeof tables)[number]) =>
    table === 'order_item_options'
      ? `order_item_no in (select order_item_no from shop.order_items where ${gone})`
      : gone;
  const keep = tables.map(
    (table) => `create table if not exists shop.script_${table} (like shop.${table});
      insert into shop.script_${table} select * from shop.${table} where ${rows(table)}`,
  );
  const remove = tables.map((table) => `delete from shop.${table} where ${rows(table)}`);
  const choose = `create table if not exists shop.script_gone (order_id bigint);
    truncate shop.script_gone;
    insert into shop.script_gone select order_id from shop.orders where ${where}`;
  return [choose, ...keep, ...remove].join(';\n');
}

/** Puts the rows of deleted orders back, as they were. */
function restoreOrders(where: string): string {
  const orders = `select order_id from shop.script_orders where ${where}`;
  const items = `select order_item_no from shop.script_order_items where order_id in (${orders})`;
  const put = tables.toReversed().map((table) => {
    const rows = table === 'order_item_options' ? `order_item_no in (${items})` : `order_id in (${orders})`;
    return `insert into shop.${table} select * from shop.script_${table} where ${rows}`;
  });
  return [...put, orders].join(';\n');
}
