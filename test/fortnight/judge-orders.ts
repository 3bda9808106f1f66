import type { Rows, Sides } from './stage.ts';

/** What is wrong, in a sentence with the key of the record. */
export type Finding = string;

export type OrderFacts = {
  /** Changed without a date since the last complete reconcile: a run of changes does not see them. */
  unseen: ReadonlySet<string>;
  /** Whether a complete reconcile has just ended, with all systems up. */
  isReconciled: boolean;
  /** First day on which an order of the service was not in the shop, by code; kept from day to day. */
  absentSince: Map<string, number>;
  /**
   * Orders that a backfill may have read: it withholds, for good, the contact of those that no other run had begun to
   * push.
   */
  backfilled: ReadonlySet<string>;
  /** The last day on which the service refused a request without a reason. */
  refusedOn: number;
  day: number;
};

const seconds = (date: string) => `floor(extract(epoch from ${date}))::bigint`;
const text = (value: string) => `nullif(${value}::text, '')`;

const shopOrders = `
  select o.code, jsonb_build_array(${seconds('moment(o.placed_at)')}, trim_scale(o.total), o.member, ${text('o.name')},
      ${text('o.store')}, ${text('o.device')}, o.points) as state,
    g.name as grade, o.grade is not null and g.code is null as is_grade_unknown, nullif(o.email, '') as email, nullif(o.phone, '') as phone, o.removed_at is not null as is_removed,
    moment(o.placed_at) > now() - interval '29 days' as is_young,
    o.device is not null and o.device not in ('pc', 'mobile') as is_faulty
  from orders o left join grades g on g.code = o.grade`;
const shopLines = `
  select order_code, line_code, product_code, price is null as is_faulty, jsonb_build_array(product_code, trim_scale(price), status,
    ${seconds('moment(sent_at)')}, ${seconds('moment(delivered_at)')}, ${text('invoice')}, ${text('carrier')},
    coalesce(options, '{}'))::text as state
  from lines order by 1, 2`;

const serviceOrders = `
  select o.code, jsonb_build_array(${seconds('o.created_at')}, trim_scale(o.total_price), o.user_code, ${text('o.user_name')},
      ${text('o.store_name')}, ${text('o.order_device')}, o.mileage) as state,
    g.name as grade, nullif(o.user_email, '') as email, nullif(o.user_phone, '') as phone
  from reference_service.orders o left join reference_service.user_grades g on g.id = o.user_grade_id`;
const serviceLines = `
  select o.code as order_code, s.id::text as id, reference_service.reviews_of(s) > 0 as has_reviews, jsonb_build_array(p.code, trim_scale(s.price),
    s.status, ${seconds('s.delivery_started_at')}, ${seconds('s.delivered_at')}, ${text('s.invoice')},
    ${text('s.delivery_service')}, s.product_options)::text as state
  from reference_service.sub_orders s join reference_service.orders o on o.id = s.order_id
  join reference_service.products p on p.id = s.product_id`;

type Tables = {
  orders: Map<string, Rows>;
  lines: Map<string, Rows>;
  serviceOrders: Map<string, Rows>;
  serviceLines: Map<string, Rows>;
  /** Open dead letters of orders and lines, by order. */
  deadLetters: Map<string, Rows>;
  /** `order/line` of lines that wait for a product id. */
  waiting: Set<string>;
  /** The sub-orders of lines, by `order/line`, as `sync.sub_order_links` has them (docs/warehouse.md). */
  links: Map<string, string>;
  /** Codes of products that some review in the warehouse names. */
  products: Set<string>;
  /** Orders whose contact is withheld, as `sync.order_links` has it. */
  withheld: Set<string>;
};

/** Compares the orders of shop and service, reading the tables of both. */
export async function judgeOrders(sides: Sides, facts: OrderFacts): Promise<Finding[]> {
  const tables = await readTables(sides);
  const findings: Finding[] = [];
  for (const [code, rows] of tables.orders) {
    if (facts.unseen.has(code)) continue;
    for (const problem of judgeOrder(code, rows, tables, facts, sides)) findings.push(`order ${code}: ${problem}`);
  }
  if (facts.isReconciled) findings.push(...judgeAbsent(tables, facts, sides));
  return findings;
}

async function readTables({ shop, atService, warehouse }: Sides): Promise<Tables> {
  const by = (rows: Rows, key: string) => Map.groupBy(rows, (row) => String(row[key]));
  const [orders, lines, atOrders, atLines, deadLetters, waiting, links, products, withheld] = await Promise.all([
    shop(shopOrders),
    shop(shopLines),
    atService(serviceOrders),
    atService(serviceLines),
    warehouse(`select order_code, kind, key, reason from sync.dead_letters
      where resolved_at is null and kind in ('order', 'order_line')`),
    warehouse(`select order_code || '/' || jsonb_object_keys(waiting_lines) as key from sync.order_links`),
    warehouse(`select order_code || '/' || line_code as key, sub_order_id::text as id from sync.sub_order_links`),
    warehouse('select distinct product_code from warehouse.reviews where product_code is not null'),
    warehouse(`select order_code from sync.order_links where contact = 'withheld'`),
  ]);
  return {
    orders: by(orders, 'code'),
    lines: by(lines, 'order_code'),
    serviceOrders: by(atOrders, 'code'),
    serviceLines: by(atLines, 'order_code'),
    deadLetters: by(deadLetters, 'order_code'),
    waiting: new Set(waiting.map((row) => String(row.key))),
    links: new Map(links.map((row) => [String(row.key), String(row.id)])),
    products: new Set(products.map((row) => String(row.product_code))),
    withheld: new Set(withheld.map((row) => String(row.order_code))),
  };
}

function judgeOrder(code: string, rows: Rows, tables: Tables, facts: OrderFacts, { setting }: Sides): Finding[] {
  const [order] = rows;
  if (!order) return [];
  const deadLetters = tables.deadLetters.get(code) ?? [];
  const reasons = deadLetters.map((deadLetter) => deadLetter.reason).join('; ');
  const lines = tables.lines.get(code) ?? [];
  const serviceLines = tables.serviceLines.get(code) ?? [];
  if (order.is_removed && rows.length === 1) return judgeRemoved(setting.deletes, { code, tables, deadLetters, facts });
  const isTwice = rows.length > 1;
  if (isTwice || order.is_faulty) {
    return deadLetters.some((deadLetter) => deadLetter.kind === 'order')
      ? []
      : ['cannot be synced and is no dead letter'];
  }
  const { good, faulty } = usable(lines);
  // What was refused is sent again a day later: the whole order, or its empty values, without which the rest was
  // accepted.
  if (facts.day - facts.refusedOn <= 2 && /status 422|an empty value was sent/.test(reasons)) return [];
  // The order was emptied: its sub-orders stay until somebody allows their removal.
  if (lines.length === 0 && serviceLines.length > 0 && deadLetters.length > 0) return [];
  if (deadLetters.length > 0 && faulty.length === 0) {
    return /allow-removals/.test(reasons) ? [] : [`is a dead letter though nothing is wrong with it: ${reasons}`];
  }
  const findings: Finding[] = [];
  for (const line of faulty) {
    if (!deadLetters.some((deadLetter) => String(deadLetter.key).startsWith(`${code}/${line.line_code}`))) {
      findings.push(`line ${line.line_code} cannot be synced and is no dead letter`);
    }
  }
  const [found] = tables.serviceOrders.get(code) ?? [];
  if (!found) return [...findings, 'is missing at the service'];
  if (JSON.stringify(found.state) !== JSON.stringify(order.state)) {
    findings.push(`is ${JSON.stringify(order.state)} in the shop and ${JSON.stringify(found.state)} at the service`);
  }
  if (facts.isReconciled) {
    // A grade that user_grades.sql does not show is not sent, and the one before stays.
    if (order.grade !== found.grade && !order.is_grade_unknown)
      findings.push(`has grade ${order.grade}, at the service ${found.grade}`);
    findings.push(...judgeContact(order, found, facts.backfilled.has(code) && tables.withheld.has(code)));
  }
  findings.push(...judgeLines(code, { good, faulty, serviceLines }, tables, facts));
  return findings;
}

function judgeRemoved(
  deletes: 'off' | 'send',
  { code, tables, deadLetters, facts }: { code: string; tables: Tables; deadLetters: Rows; facts: OrderFacts },
) {
  const [found] = tables.serviceOrders.get(code) ?? [];
  if (!found || deadLetters.length > 0) return [];
  if (facts.isReconciled && (found.email !== null || found.phone !== null))
    return ['was removed in the shop and keeps its contact at the service'];
  if (deletes === 'off') return [];
  const isKept = tables.serviceLines.get(code)?.some((line) => line.has_reviews);
  return isKept ? [] : ['was removed in the shop and is still at the service'];
}

/**
 * What is young is complete, what the shop cleared is cleared. Whether anything was disclosed is for contact.ts to say.
 */
function judgeContact(order: Rows[number], found: Rows[number], isWithheld: boolean): Finding[] {
  return (['email', 'phone'] as const).flatMap((field) => {
    if (order[field] === null && found[field] !== null) return [`has no ${field} in the shop, but one at the service`];
    if (isWithheld) return [];
    if (order.is_young && order[field] !== found[field]) return [`is young, and its ${field} is not at the service`];
    return [];
  });
}

/** Lines with one code cannot be told from each other: none is sent. */
function usable(lines: Rows): { good: Rows; faulty: Rows } {
  const { faulty = [], good = [] } = Object.groupBy(lines, (line) => {
    const isTwice = lines.filter(({ line_code }) => line_code === line.line_code).length > 1;
    return line.is_faulty || isTwice ? 'faulty' : 'good';
  });
  return { good, faulty };
}

type OrderLines = { good: Rows; faulty: Rows; serviceLines: Rows };

function judgeLines(
  code: string,
  { good, faulty, serviceLines }: OrderLines,
  tables: Tables,
  facts: OrderFacts,
): Finding[] {
  const findings: Finding[] = [];
  const left = [...serviceLines];
  // The sub-order of a line that cannot be read, or whose new product is not known yet, is not changed.
  const unchanged = new Set(faulty.map((line) => tables.links.get(`${code}/${line.line_code}`)));
  for (const line of good) {
    // Of two equal ones, the one without reviews is compared first: the other may be a kept one.
    const at = left.findIndex((found) => found.state === line.state);
    if (at >= 0) left.splice(at, 1);
    else unchanged.add(tables.links.get(`${code}/${line.line_code}`));
    if (at >= 0) continue;
    if (!tables.waiting.has(`${code}/${line.line_code}`)) {
      findings.push(`line ${line.line_code} ${line.state} is not at the service, which has ${states(left)}`);
    } else if (facts.isReconciled && tables.products.has(String(line.product_code))) {
      findings.push(`line ${line.line_code} waits although its product ${line.product_code} is known`);
    }
  }
  const extra = left.filter((line) => !line.has_reviews && !unchanged.has(String(line.id)));
  if (extra.length > 0) findings.push(`the service has sub-orders that the shop does not: ${states(extra)}`);
  return findings;
}

const states = (lines: Rows) => lines.map((line) => line.state).join(', ') || 'none';

/** Days that a deletion may take which no query shows: two rescans a day apart, and the days without one. */
const absentAtMost = 4;

function judgeAbsent(tables: Tables, { absentSince, day }: OrderFacts, { setting }: Sides): Finding[] {
  const findings: Finding[] = [];
  for (const code of absentSince.keys()) {
    if (tables.orders.has(code) || !tables.serviceOrders.has(code)) absentSince.delete(code);
  }
  for (const code of tables.serviceOrders.keys()) {
    if (tables.orders.has(code)) continue;
    if (!absentSince.has(code)) absentSince.set(code, day);
    const isKept = tables.serviceLines.get(code)?.some((line) => line.has_reviews);
    if (setting.deletes === 'off' || isKept) continue;
    const days = day - (absentSince.get(code) ?? day);
    if (days > absentAtMost)
      findings.push(`order ${code}: is gone from the shop for ${days} days and still at the service`);
  }
  return findings;
}
