import type { Random } from '../../src/sandbox/sample-shop/random.ts';
import type { Stage } from './stage.ts';

/** What an event did that no query of changes shows: a run need not see it before the next reconcile. */
export type Effect = { unseenOrders?: string[]; unseenReviews?: number[]; touchesCatalog?: boolean };

export type Event = (stage: Stage, random: Random) => Promise<Effect>;

/**
 * What happens in the shop. `now` in a date is the moment of the change; what has no date of change is only found by a
 * rescan.
 */

const dated = 'changed_at = stamp(clock_timestamp())';
const age = (days: number) => `moment(placed_at) > clock_timestamp() - interval '${days} days'`;

/** Some codes, the same for the same seed. */
async function codes({ shop }: Stage, random: Random, where: string, most: number): Promise<string[]> {
  const rows = await shop(`select code from orders where ${where} group by code order by md5(code || $1) limit $2`, [
    String(random.integer(0, 1e9)),
    random.integer(1, most),
  ]);
  return rows.map((row) => String(row.code));
}

/** An update of some orders that is dated. */
function change(set: string, options: { where?: string; most?: number } = {}): Event {
  return async (stage, random) => {
    const some = await codes(stage, random, options.where ?? age(90), options.most ?? 8);
    await stage.shop(`update orders set ${set}, ${dated} where code = any($1)`, [some]);
    return {};
  };
}

/** The same without a date. Young enough for every rescan to find it, even after some days without any run. */
function changeSilently(set: string): Event {
  return async (stage, random) => {
    const some = await codes(stage, random, age(35), 5);
    await stage.shop(`update orders set ${set} where code = any($1)`, [some]);
    return { unseenOrders: some };
  };
}

/** A change of lines. Where orders.sql has updated_at, it moves the date of the order. */
function changeLines(sql: (isOurs: string) => string, options: { where?: string } = {}): Event {
  return async (stage, random) => {
    const some = await codes(stage, random, options.where ?? age(90), 6);
    await stage.shop(sql('order_code = any($1)'), [some]);
    const table = stage.setting.feed === 'feed' ? 'lines' : 'orders';
    const code = table === 'lines' ? 'order_code' : 'code';
    await stage.shop(`update ${table} set ${dated} where ${code} = any($1)`, [some]);
    return {};
  };
}

/** Makes orders of one to three lines. @param ageSql how long ago they were made and dated. */
async function makeOrders({ shop }: Stage, random: Random, count: number, ageSql = `interval '0'`): Promise<string[]> {
  const [counter] = await shop(`update counters set value = value + $1 where name = 'order' returning value`, [count]);
  const last = Number(counter?.value);
  const salt = random.integer(0, 1e9);
  const rows = await shop(
    `with made as (
       insert into orders
       select 'O' || n, stamp(clock_timestamp() - ${ageSql}), stamp(clock_timestamp() - ${ageSql}),
         (hashint4(n) & 1023)::numeric / 4, 'm' || n % 97, '이름' || n % 97, '010-' || n, n || '@example.com',
         case n % 4 when 0 then null else 'g' || n % 4 end, case when n % 9 = 0 then '강남점' end,
         case n % 3 when 0 then 'pc' when 1 then 'mobile' end, n % 7, null
       from generate_series($1::integer, $2::integer) n
       returning code, placed_at
     ), made_lines as (
       insert into lines
       select code, l::text, 'P' || (hashtext(code || l || $3) & 31), (hashtext(code || l) & 255)::numeric / 2, 'paid', null, null,
         null, null, case when l = 2 then '{"색상": "남색"}'::jsonb end, placed_at
       from made, generate_series(1, 1 + (hashtext(code || $3) & 3) % 3) l
     )
     select code from made`,
    [last - count + 1, last, String(salt)],
  );
  return rows.map((row) => String(row.code));
}

/**
 * An expression of SQL: so long before the cursor of a flow, for a transaction that was under way when the last run
 * read. A run that starts reading at its cursor, without lookback, misses what is dated so. A run that has not ended may
 * have read up to its start: the next command ends it and moves the cursor.
 */
export async function beforeCursor({ warehouse }: Stage, flow: 'orders' | 'reviews', age: string): Promise<string> {
  const [read] = await warehouse(
    `select greatest(
       (select (to_jsonb(s) -> ($1 || '_cursor') ->> 'at')::timestamptz from sync.settings s),
       (select max(started_at) from sync.runs where job = 'sync-' || $1::text and finished_at is null)
     )::text as at`,
    [flow],
  );
  return `${read?.at ? `timestamptz '${read.at}'` : 'clock_timestamp()'} - interval '${age}'`;
}

const newOrders: Event = async (stage, random) => {
  await makeOrders(stage, random, random.integer(2, 9));
  await stage.shop(
    `update lines l set status = 'delivery_finished', sent_at = o.placed_at + interval '1 day',
       delivered_at = stamp(clock_timestamp()), invoice = 'I' || l.order_code, carrier = 'CJ', changed_at = stamp(clock_timestamp())
     from orders o where o.code = l.order_code and l.status = 'paid' and moment(o.placed_at) < clock_timestamp() - interval '2 days'`,
  );
  if (stage.setting.feed === 'updated_at') {
    await stage.shop(
      `update orders set ${dated} where code in (select order_code from lines where delivered_at >= stamp(clock_timestamp() - interval '5 seconds'))`,
    );
  }
  return {};
};

const addLine = (isOurs: string) => `
  insert into lines select order_code, 'X' || count(*), 'P' || (hashtext(order_code) & 31), 11, 'paid', null, null, null, null,
    null, null from lines where ${isOurs} group by order_code`;
const keepAndDeleteLine = (isOurs: string) => `
  with gone as (delete from lines where ${isOurs} and line_code = '2' returning *) insert into gone_lines select * from gone`;
const returnLines = (isOurs: string) => `
  with back as (delete from gone_lines where ${isOurs} and order_code in (select code from orders) returning *)
  insert into lines select * from back`;

const deleteOrders: Event = async (stage, random) => {
  const some = await codes(stage, random, age(35), 3);
  await stage.shop(
    `with gone as (delete from orders where code = any($1) returning *) insert into gone_orders select * from gone`,
    [some],
  );
  await stage.shop(
    `with gone as (delete from lines where order_code = any($1) returning *) insert into gone_lines select * from gone`,
    [some],
  );
  return { unseenOrders: some };
};

const returnOrders: Event = async (stage) => {
  const rows = await stage.shop(`
    with back as (delete from gone_orders returning *), kept as (
      insert into orders select * from back where code not in (select code from orders) returning code
    ), lines_back as (
      delete from gone_lines where order_code in (select code from kept) returning *
    ), lines_kept as (insert into lines select * from lines_back)
    select code from kept`);
  return { unseenOrders: rows.map((row) => String(row.code)) };
};

const correctFaults: Event = async ({ shop }) => {
  await shop(`update orders set device = 'pc', ${dated} where device not in ('pc', 'mobile')`);
  // The row that stays gets no date: a run of changes reads the order again when its backoff is over.
  const once = await shop(`
    delete from orders a using orders b where a.code = b.code and a.ctid > b.ctid returning a.code`);
  const rows = await shop(`
    with twice as (
      delete from lines a using lines b
      where a.order_code = b.order_code and a.line_code = b.line_code and a.ctid > b.ctid returning a.order_code
    ), priced as (update lines set price = 5 where price is null returning order_code)
    select order_code from twice union select order_code from priced`);
  await shop(`update orders set ${dated} where code = any($1)`, [rows.map((row) => row.order_code)]);
  return { unseenOrders: once.map((row) => String(row.code)) };
};

const takeBackup: Event = async ({ shop }) => {
  await shop(`delete from backup_orders; delete from backup_lines; insert into backup_orders select * from orders;
    insert into backup_lines select * from lines;
    insert into counters select 'backup', value from counters where name = 'order'
      on conflict (name) do update set value = excluded.value`);
  return {};
};

/**
 * The shop is what it was some days ago, order numbers included. What is too old for a rescan gets a date of change.
 */
const restoreBackup: Event = async ({ shop }) => {
  const rows = await shop(`select code from orders union select code from backup_orders`);
  const [backup] = await shop(`select 1 from counters where name = 'backup'`);
  if (!backup) return {};
  await shop(`delete from orders; delete from lines; insert into orders select * from backup_orders;
    insert into lines select * from backup_lines;
    update counters set value = (select value from counters where name = 'backup') where name = 'order';
    update orders set ${dated} where moment(placed_at) < clock_timestamp() - interval '40 days'`);
  return { unseenOrders: rows.map((row) => String(row.code)) };
};

const changeGrades: Event = async ({ shop }, random) => {
  const grade = random.integer(1, 3);
  await shop(`insert into grades values ($1, $2, null) on conflict (code) do update set name = excluded.name`, [
    `g${grade}`,
    `등급 ${random.integer(1, 1000)}`,
  ]);
  return { touchesCatalog: true };
};

const changeCategories: Event = async ({ shop }, random) => {
  const code = random.integer(1, 12);
  await shop(
    `insert into categories values ($1, $2, $3, $4) on conflict (code) do update
     set name = excluded.name, parent = excluded.parent, status = excluded.status`,
    [
      `c${code}`,
      `분류 ${random.integer(1, 1000)}`,
      code > 3 ? `c${random.integer(1, 3)}` : null,
      random.pick(['visible', 'hidden']),
    ],
  );
  if (code > 3)
    await shop(`insert into categories values ('c1', 'C1', null, 'visible'), ('c2', 'C2', null, 'visible'),
    ('c3', 'C3', null, 'visible') on conflict do nothing`);
  return { touchesCatalog: true };
};

export const shopEvents: Readonly<Record<string, Event>> = {
  newOrders,
  takeBackup,
  restoreBackup,
  deleteOrders,
  returnOrders,
  correctFaults,
  changeGrades,
  changeCategories,
  salesDay: async (stage, random) => {
    await makeOrders(stage, random, 60);
    return {};
  },
  lateCommit: async (stage, random) => {
    await makeOrders(stage, random, 3, `(clock_timestamp() - (${await beforeCursor(stage, 'orders', '9 minutes')}))`);
    return {};
  },
  commitBeyondOverlap: async (stage, random) => ({
    unseenOrders: await makeOrders(stage, random, 2, `interval '5 hours'`),
  }),
  massTouch: change('points = points', { where: 'true', most: 1_000_000 }),
  totalChanges: change('total = total + 500'),
  totalGoesBack: change('total = total - 500'),
  changesSilently: changeSilently(`total = total + 900, name = 'Renamed ' || total`),
  fieldsAreEmptied: change(`name = null, store = null, device = null, points = null, grade = null`),
  fieldsAreFilled: change(`name = '이름', store = '서울점', device = 'mobile', points = 3, grade = 'g2'`),
  gradeChanges: change(`grade = 'g' || (hashtext(code) & 3)`),
  contactIsEmptied: change('email = null, phone = null', { where: 'true' }),
  contactIsFilled: change(
    `email = coalesce(email, code || '@late.example.com'), phone = coalesce(phone, '011-' || code)`,
    {
      where: 'true',
    },
  ),
  contactChanges: change(`email = total || '@new.example.com'`, { where: 'true' }),
  orderIsMarkedRemoved: change('removed_at = stamp(clock_timestamp())', { most: 3 }),
  removalIsUndone: change('removed_at = null', { where: 'removed_at is not null', most: 3 }),
  removedSilently: changeSilently('removed_at = stamp(clock_timestamp())'),
  deviceIsUnknown: change(`device = 'tablet'`, { most: 2 }),
  codeComesTwice: async (stage, random) => {
    const some = await codes(stage, random, age(35), 1);
    await stage.shop(`insert into orders select * from orders where code = any($1)`, [some]);
    await stage.shop(`update orders set ${dated} where code = any($1)`, [some]);
    return {};
  },
  priceIsMissing: changeLines((ours) => `update lines set price = null where ${ours} and line_code = '1'`, {
    where: age(35),
  }),
  lineComesTwice: changeLines((ours) => `insert into lines select * from lines where ${ours} and line_code = '1'`, {
    where: age(35),
  }),
  lineIsAdded: changeLines(addLine),
  lineIsDeleted: changeLines(keepAndDeleteLine),
  linesReturn: changeLines(returnLines),
  lineIsCancelled: changeLines((ours) => `update lines set status = 'cancelled' where ${ours} and line_code = '1'`),
  lineGetsAnotherCode: changeLines(
    (ours) => `update lines set line_code = 'Y' || line_code where ${ours} and length(line_code) < 4`,
  ),
  lineGetsAnotherProduct: changeLines(
    (ours) => `update lines set product_code = 'P' || (hashtext(product_code || order_code) & 31) where ${ours}`,
  ),
  optionsChange: changeLines((ours) => `update lines set options = '{"사이즈": "M"}' where ${ours}`),
  deliveryIsUndone: changeLines(
    (ours) =>
      `update lines set sent_at = null, delivered_at = null, invoice = null, carrier = null, status = 'paid' where ${ours}`,
  ),
};
