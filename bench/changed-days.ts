import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../src/base/package-path.ts';
import { type ChangeScriptOptions, changeScript, lateTransaction } from '../src/sandbox/sample-shop/change-script.ts';
import { selectOf } from '../src/shop/queries.ts';
import { aDayPasses } from '../test/harness/service-view.ts';

/**
 * One row an order: its code, and all that both ends must agree on as one text. E-mail address and phone number are
 * left out: how old an order is decides whether they are sent.
 */
export type OrderState = { code: string; state: string };

/** What the sample shop shows through the shipped queries. Orders that are marked as removed are left out. */
export async function shopStateSql(): Promise<string> {
  const query = async (name: string) => selectOf(await readFile(packagePath('sql', 'shop', `${name}.sql`), 'utf8'));
  return `
    with lines as (
      select order_code, jsonb_agg(line order by line) as lines from (
        select order_code, ${lineState('l', 'l.product_code')} as line from (${await query('order_lines')}\n) l
      ) of_lines group by order_code
    )
    select o.code, ${orderState('o', 'g.name', 'l.lines')} as state
    from (${await query('orders')}\n) o
    left join (${await query('user_grades')}\n) g on g.code = o.user_grade_code
    left join lines l on l.order_code = o.code
    where o.deleted_at is null`;
}

/** What the reference service holds, in the same form. */
export const serviceStateSql = `
  with lines as (
    select order_id, jsonb_agg(line order by line) as lines from (
      select s.order_id, ${lineState('s', 'p.code')} as line
      from reference_service.sub_orders s join reference_service.products p on p.id = s.product_id
    ) of_lines group by order_id
  )
  select o.code, ${orderState('o', 'g.name', 'l.lines')} as state
  from reference_service.orders o
  left join reference_service.user_grades g on g.id = o.user_grade_id
  left join lines l on l.order_id = o.id`;

function orderState(o: string, grade: string, lines: string): string {
  return `jsonb_build_array(${seconds(`${o}.created_at`)}, trim_scale(${o}.total_price), ${o}.user_code, ${o}.user_name, ${grade},
    ${o}.store_name, ${o}.order_device, ${o}.mileage, ${lines})::text`;
}

function lineState(l: string, productCode: string): string {
  return `jsonb_build_array(${productCode}, trim_scale(${l}.price), ${l}.status, ${seconds(`${l}.delivery_started_at`)},
    ${seconds(`${l}.delivered_at`)}, ${l}.invoice, coalesce(${l}.delivery_service, ''), coalesce(${l}.product_options, '{}'))`;
}

/** The service keeps whole seconds. */
function seconds(date: string): string {
  return `floor(extract(epoch from ${date}))`;
}

/** A hash in place of the text, for many orders. */
export const hashed = (sql: string): string => `select code, md5(state) as state from (${sql}) s`;

export type StateDifference = { code: string; kind: 'missing' | 'extra' | 'differs' };

/** Orders that are not the same at both ends. */
export function stateDifferences(shop: readonly OrderState[], service: readonly OrderState[]): StateDifference[] {
  const atService = new Map(service.map(({ code, state }) => [code, state]));
  const found = shop.flatMap(({ code, state }): StateDifference[] => {
    const other = atService.get(code);
    atService.delete(code);
    if (other === state) return [];
    return [{ code, kind: other === undefined ? 'missing' : 'differs' }];
  });
  return [...found, ...[...atService.keys()].map((code): StateDifference => ({ code, kind: 'extra' }))];
}

/** Two ends with the same orders, and the means to change the one and to sync the other. */
export type Ends = {
  shopUrl: string;
  warehouseUrl: string;
  /** A command that ends with status 0, such as `sync orders --json`. Returns what it reports. */
  cli(...args: string[]): Promise<{ counts: Record<string, number> }>;
  differences(): Promise<StateDifference[]>;
};

export type Day = {
  day: 1 | 2 | 3;
  /** Orders that each change of the day is about. */
  changes: { name: string; orders: number }[];
  /** Orders that differ once the incremental runs have ended, and how many the script says. */
  afterFeed: StateDifference[];
  afterFeedExpected: number;
  /** Orders that the rescan pushed, and how many changes the script says that no incremental run finds. */
  missed: number;
  missedExpected: number;
  /** Orders that differ after the rescan. */
  afterRescan: StateDifference[];
  afterRescanExpected: number;
};

/**
 * Lives through the three days of the change script. On each of them: change the shop, run `sync orders`, run
 * `sync reconcile`. On the first day a transaction is open during a run that reads newer changes, and commits after it.
 */
export async function* changedDays(ends: Ends, options: ChangeScriptOptions): AsyncGenerator<Day> {
  const script = changeScript(options);
  await using opened = new AsyncDisposableStack();
  const [shop, late, warehouse] = await Promise.all(
    [ends.shopUrl, ends.shopUrl, ends.warehouseUrl].map(async (connectionString) => {
      const client = new pg.Client({ connectionString });
      // The server may end before this connection does.
      client.on('error', () => {});
      await client.connect();
      opened.defer(() => client.end());
      return client;
    }),
  );
  if (!shop || !late || !warehouse) return;
  for (const day of [1, 2, 3] as const) {
    if (day === 1) await late.query(`begin; ${lateTransaction(options)}`);
    const changes: Day['changes'] = [];
    const found = { feed: 0, rescan: 0, absence: 0 };
    let removed = 0;
    for (const { name, foundBy, sql } of script[day]) {
      const orders = [await shop.query(sql)].flat().at(-1)?.rowCount ?? 0;
      changes.push({ name, orders });
      found[foundBy] += orders;
      if (name === 'an order is marked as removed without a date') removed += orders;
    }
    // The script deletes far more than usual.
    await ends.cli('sync', 'orders', '--allow-removals', '--json');
    if (day === 1) {
      await late.query('commit');
      await ends.cli('sync', 'orders', '--json');
    }
    const afterFeed = await ends.differences();
    const { counts } = await ends.cli('sync', 'reconcile', '--allow-removals', '--json');
    yield {
      day,
      changes,
      afterFeed,
      // Orders that were deleted on the first day are still at the service until the second one; half of them return on
      // it.
      afterFeedExpected: found.rescan + (day === 3 ? 0 : found.absence),
      missed: counts.orders_pushed ?? 0,
      missedExpected: found.rescan - removed,
      afterRescan: await ends.differences(),
      afterRescanExpected: day === 1 ? found.absence : 0,
    };
    await warehouse.query(aDayPasses);
  }
}
