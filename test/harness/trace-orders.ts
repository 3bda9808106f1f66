import { desiredOrder } from '../../src/orders/order/desired-order.ts';
import type { SubOrderContent } from '../../src/orders/order/order-body.ts';
import { prepareOrder } from '../../src/orders/order/prepare-order.ts';
import { emptiesOrder } from '../../src/orders/push/removal-guard.ts';
import { openShop } from '../../src/shop/index.ts';
import type { LineLinkRow } from '../../src/warehouse/orders/order-links.ts';
import { expectExplained } from '../models/explain.ts';
import { judgeOrder, type OrderRecording, type RecordedEvent, type RecordedRow } from '../models/order-trace.ts';
import { formatContent, type Link, type Version } from '../models/orders.ts';
import { queryAgain } from './database.ts';
import { type Logged, type LoggedRequest, openTrace, type RowChange, transactionsOf } from './trace.ts';

export type OrderTrace = AsyncDisposable & {
  /** Where a client under observation finds the service. */
  url: string;
  /** Call it after each change of the shop. */
  shopChanged(): Promise<void>;
  /** Fails where the model of the orders does not explain what was done with some order. @returns events that were judged. */
  judge(): Promise<number>;
};

type Urls = { shop: string; warehouse: string; serviceDatabase: string; service: string; shopQueries: string };
type OrderRow = {
  order_code: string;
  order_id: number | null;
  fingerprint: string | null;
  lease_owner: string | null;
  lines_unsure: boolean;
  removals_wanted: number;
  removals_held: boolean;
  unseen_creations: LineLinkRow<SubOrderContent>[];
  retry_at: string | null;
  pushed_at: string | null;
};
type LinkRow = {
  order_code: string;
  line_code: string;
  sub_order_id: number | null;
  content: SubOrderContent;
  ids_before: number[] | null;
};
type SubRow = { code: string; order_id: number; id: number | null; content: SubOrderContent };
type Cursor = { position: { at: string; code?: string } };
type Snapshot = { orders: OrderRow[]; links: LinkRow[]; subs: SubRow[]; cursor: Cursor | undefined };
/** An order as the shop has it at a moment. */
type ShopOrder = { version: Version; fingerprint: string; waits: boolean; isEmptied: boolean; updatedAt: string };
type ShopState = Record<string, ShopOrder>;

const tables = {
  'sync.order_links': [
    ...['order_code', 'order_id', 'fingerprint', 'lease_owner', 'lines_unsure', 'removals_wanted', 'retry_at'],
    ...['pushed_at', 'removals_held', 'unseen_creations'],
  ],
  'sync.sub_order_links': ['order_code', 'line_code', 'sub_order_id', 'content', 'ids_before'],
  'sync.cursors': ['flow', 'position'],
};

/** Records what is done with the orders of a shop of the tables `o` and `l` from now on (order-shop.ts). */
export async function recordOrderTrace(urls: Urls): Promise<OrderTrace> {
  const trace = await openTrace({ warehouseUrl: urls.warehouse, serviceUrl: urls.service }, tables);
  const shop = openShop({ url: urls.shop, sqlDir: urls.shopQueries, connections: 1 });
  const readShop = async (): Promise<ShopState> => {
    const rows = await queryAgain<{ code: string; at: string }>(
      urls.shop,
      'select code, updated_at::text as at from o',
    );
    const raws = await shop.orders(rows.map(({ code }) => code));
    const dates = new Map(rows.map(({ code, at }) => [code, at]));
    return Object.fromEntries(
      raws.flatMap((raw) => {
        const prepared = prepareOrder(raw, new Map());
        if (!('order' in prepared)) return [];
        const { code, deletedAt } = prepared.order;
        const { fingerprint } = desiredOrder(prepared, new Map());
        const lines = prepared.lines.map(({ lineCode, content }) => [lineCode, formatContent(content)]);
        const version = deletedAt ? ('deleted' as const) : Object.fromEntries(lines);
        const waits = prepared.waiting.length > 0;
        const isEmptied = !deletedAt && emptiesOrder(prepared);
        const updatedAt = dates.get(code) ?? '';
        return [[code, { version, fingerprint, waits, isEmptied, updatedAt } satisfies ShopOrder]];
      }),
    );
  };
  const shopAtBegin = await readShop();
  const begin = await snapshot(urls);
  return {
    url: trace.url,
    shopChanged: async () => trace.note('shop', await readShop()),
    async judge() {
      const log = await trace.logged();
      // An order that came later has no version before that.
      const states = [shopAtBegin, ...log.filter(({ kind }) => kind === 'shop').map(({ data }) => data as ShopState)];
      const first = Object.assign({}, ...states.toReversed()) as ShopState;
      let judged = 0;
      for (const code of Object.keys(first)) judged += judgeOnce(code, recordingOf(code, first, begin, log));
      return judged;
    },
    async [Symbol.asyncDispose]() {
      await trace[Symbol.asyncDispose]();
      await shop.close();
    },
  };
}

/** Most orders of most runs have the same recording as one before. */
const explained = new Set<string>();

function judgeOnce(code: string, recording: OrderRecording): number {
  const key = JSON.stringify(recording);
  if (!explained.has(key)) expectExplained(judgeOrder(recording), `order ${code}`, recording.events);
  explained.add(key);
  return recording.events.length;
}

async function snapshot({ warehouse, serviceDatabase }: Urls): Promise<Snapshot> {
  const columns = (table: keyof typeof tables) => tables[table].join(', ');
  const [orders, links, subs, cursors] = await Promise.all([
    queryAgain<OrderRow>(warehouse, `select ${columns('sync.order_links')} from sync.order_links`),
    queryAgain<LinkRow>(warehouse, `select ${columns('sync.sub_order_links')} from sync.sub_order_links`),
    queryAgain<SubRow>(
      serviceDatabase,
      `select o.code, o.id::integer as order_id, s.id::integer, jsonb_strip_nulls(jsonb_build_object(
         'product_id', s.product_id, 'price', s.price::text, 'product_options', coalesce(s.product_options, '{}'),
         'status', s.status, 'invoice', s.invoice)) as content
       from reference_service.orders o left join reference_service.sub_orders s on s.order_id = o.id order by s.id`,
    ),
    queryAgain<Cursor>(warehouse, `select position from sync.cursors where flow = 'orders'`),
  ]);
  return { orders, links, subs, cursor: cursors[0] };
}

/** What the log holds of one order, in the words of the model: its versions and sub-orders by number, leases by name. */
function recordingOf(code: string, shopAtBegin: ShopState, begin: Snapshot, log: readonly Logged[]): OrderRecording {
  const versions = [shopAtBegin[code] as ShopOrder];
  const numbers = new Map<number, number>();
  const numberOf = (id: number) => {
    if (!numbers.has(id)) numbers.set(id, -id);
    return numbers.get(id) as number;
  };
  const subs = begin.subs.filter((sub) => sub.code === code && sub.id !== null);
  const recordedSubs = subs.map(({ id, content }, index) => {
    numbers.set(id as number, index + 1);
    return { id: index + 1, content: formatContent(content) };
  });
  let created = subs.length;
  const orderIds = new Set(begin.subs.filter((sub) => sub.code === code).map((sub) => sub.order_id));
  const links = new Map<string, Link>();
  const linkOf = ({ line_code, sub_order_id, content, ids_before }: LinkRow): Link => ({
    line: line_code,
    id: sub_order_id === null ? null : numberOf(Number(sub_order_id)),
    content: formatContent(content),
    before: ids_before?.map(Number).map(numberOf) ?? null,
  });
  const unseenOf = (row: OrderRow | null | undefined): Link[] =>
    (row?.unseen_creations ?? []).map(({ lineCode, subOrderId, content, idsBefore }) => ({
      line: lineCode,
      id: subOrderId === null ? null : numberOf(subOrderId),
      content: formatContent(content),
      before: idsBefore?.map(numberOf) ?? null,
    }));
  for (const row of begin.links) if (row.order_code === code) links.set(row.line_code, linkOf(row));
  const fingerprintNames = new Map<string, string>();
  const nameOf = (fingerprint: string) => {
    const name = fingerprintNames.get(fingerprint) ?? `fingerprint ${fingerprintNames.size + 1}`;
    fingerprintNames.set(fingerprint, name);
    return name;
  };
  const rowOf = (row: OrderRow): RecordedRow => ({
    pushed: row.fingerprint === null ? null : nameOf(row.fingerprint),
    isUnsure: row.lines_unsure,
    isRetryDue: row.retry_at !== null,
    removalsWanted: row.removals_wanted,
    isHeld: row.removals_held,
  });
  const tokenNames = new Map<string | null, string>();
  const tokenOf = (token: string | null) => {
    const name = tokenNames.get(token) ?? `lease ${tokenNames.size + 1}`;
    tokenNames.set(token, name);
    return name;
  };
  /** A cursor beyond an older version says nothing: the order is read by the date that it has now. */
  const isPassed = (cursor: Cursor | null | undefined) =>
    cursor != null && isReached(cursor, versions.at(-1)?.updatedAt ?? '', code);

  const first = begin.orders.find((row) => row.order_code === code);
  const recorded: OrderRecording['begin'] = {
    row: first && rowOf(first),
    links: [...links.values()],
    unseen: unseenOf(first),
    subs: recordedSubs,
    hasOrder: orderIds.size > 0,
    cursor: isPassed(begin.cursor) ? 0 : -1,
    isLeased: first !== undefined && first.lease_owner !== null,
  };
  let upTo = recorded.cursor;
  let holder = first?.lease_owner ?? null;
  let unseen = unseenOf(first);
  const events: RecordedEvent[] = [];

  for (const committed of transactionsOf(log)) {
    const [one] = committed;
    if (!one) continue;
    if (one.kind === 'shop') {
      const now = (one.data as ShopState)[code];
      if (!now || JSON.stringify(now) === JSON.stringify(versions.at(-1))) continue;
      versions.push(now);
      events.push({ kind: 'shop', version: versions.length - 1 });
    } else if (one.kind === 'request') {
      const event = requestEvent(
        one.data as LoggedRequest,
        code,
        orderIds,
        (id) => {
          created += 1;
          numbers.set(id, created);
        },
        numberOf,
      );
      if (event) events.push(event);
    } else if (one.kind === 'sync.cursors') {
      const { new: now } = one.data as RowChange<Cursor & { flow: string }>;
      if (now?.flow !== 'orders') continue;
      if (upTo === versions.length - 1 || !isPassed(now)) continue;
      upTo = versions.length - 1;
      events.push({ kind: 'cursor', upTo });
    } else {
      const ofOrder = committed.filter(({ data }) => {
        const { old, new: now } = data as RowChange<{ order_code: string }>;
        return (now ?? old)?.order_code === code;
      });
      let haveLinksChanged = false;
      for (const { kind, data } of ofOrder) {
        if (kind !== 'sync.sub_order_links') continue;
        const { old, new: now } = data as RowChange<LinkRow>;
        if (now) links.set(now.line_code, linkOf(now));
        else if (old) links.delete(old.line_code);
        haveLinksChanged = true;
      }
      const change = ofOrder.find(({ kind }) => kind === 'sync.order_links')?.data as RowChange<OrderRow> | undefined;
      const all = { links: [...links.values()], unseen: change ? unseenOf(change.new) : unseen };
      haveLinksChanged ||= JSON.stringify(all.unseen) !== JSON.stringify(unseen);
      unseen = all.unseen;
      const event = orderEvent(change, all, haveLinksChanged, { holder, rowOf, tokenOf });
      if (event) events.push(event);
      if (change) holder = change.new?.lease_owner ?? null;
    }
  }
  return {
    versions: versions.map(({ version }) => version),
    fingerprints: versions.map(({ fingerprint }) => nameOf(fingerprint)),
    waits: versions.map(({ waits }) => waits),
    isEmptied: versions.map(({ isEmptied }) => isEmptied),
    begin: recorded,
    events,
  };
}

/** Whether a cursor has passed an order of this date. Both are texts of Postgres in one zone. */
function isReached({ position }: Cursor, updatedAt: string, code: string): boolean {
  const [at, date] = [position.at, updatedAt].map((text) => ({ ms: Date.parse(text), micros: microsOf(text) }));
  if (!at || !date) return false;
  if (at.ms !== date.ms) return at.ms > date.ms;
  return at.micros === date.micros ? code <= (position.code ?? '') : at.micros > date.micros;
}
const microsOf = (text: string): number => Number((/\.(\d+)/.exec(text)?.[1] ?? '').padEnd(6, '0').slice(3, 6));

function orderEvent(
  change: RowChange<OrderRow> | undefined,
  all: { links: Link[]; unseen: Link[] },
  haveLinksChanged: boolean,
  names: { holder: string | null; rowOf(row: OrderRow): RecordedRow; tokenOf(token: string | null): string },
): RecordedEvent | undefined {
  const { holder, rowOf, tokenOf } = names;
  if (!change) return haveLinksChanged ? { kind: 'links', token: tokenOf(holder), ...all } : undefined;
  const { old, new: now } = change;
  if (!now) {
    const token = tokenOf(old?.lease_owner ?? null);
    return old?.pushed_at === null && old.order_id === null
      ? { kind: 'return', token, row: undefined }
      : { kind: 'forget', token, links: all.links };
  }
  const before = old?.lease_owner ?? null;
  if (old && !old.removals_held && now.removals_held && now.pushed_at === old.pushed_at)
    return { kind: 'hold', row: rowOf(now) };
  if (now.lease_owner !== null && now.lease_owner !== before)
    return { kind: 'lease', token: tokenOf(now.lease_owner), row: rowOf(now), ...all };
  const isPushed = now.pushed_at !== null && (!old?.pushed_at || Date.parse(now.pushed_at) > Date.parse(old.pushed_at));
  if (isPushed) return { kind: 'record', token: tokenOf(before), row: rowOf(now), ...all };
  if (now.lease_owner === null && before !== null) return { kind: 'return', token: tokenOf(before), row: rowOf(now) };
  // A test lets time pass.
  return haveLinksChanged ? { kind: 'links', token: tokenOf(before), ...all } : undefined;
}

function requestEvent(
  { method, path, form, status, body }: LoggedRequest,
  code: string,
  orderIds: Set<number>,
  created: (id: number) => void,
  numberOf: (id: number) => number,
): RecordedEvent | undefined {
  if (method === 'GET') return undefined;
  const id = typeof body === 'object' && body !== null && 'id' in body ? Number(body.id) : undefined;
  if (path === '/v1/orders') {
    if (form.code !== code || status >= 300) return undefined;
    if (id !== undefined) orderIds.add(id);
    return { kind: 'post' };
  }
  const [, orderId, sub] = /^\/v1\/orders\/(\d+)(?:\/sub_orders(?:\/(\d+))?)?$/.exec(path) ?? [];
  if (orderId === undefined || !orderIds.has(Number(orderId))) return undefined;
  if (!path.includes('/sub_orders')) return method === 'DELETE' && status < 300 ? { kind: 'delete order' } : undefined;
  if (method === 'POST') {
    if (id !== undefined && status < 300) created(id);
    return { kind: 'create', product: Number(form.product_id), price: String(form.price), status };
  }
  return { kind: method === 'PUT' ? 'change' : 'remove', id: numberOf(Number(sub)), status };
}
