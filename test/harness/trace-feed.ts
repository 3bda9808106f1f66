import { desiredOrder } from '../../src/orders/order/desired-order.ts';
import { prepareOrder } from '../../src/orders/order/prepare-order.ts';
import type { SyncState } from '../../src/orders/which/changed-orders.ts';
import type { RunData, StepData } from '../../src/queue/index.ts';
import { openShop } from '../../src/shop/index.ts';
import { expectExplained } from '../models/explain.ts';
import { type FeedRecording, judgeFeed, type RecordedEvent, type ShopOrder } from '../models/feed-trace.ts';
import { queryAgain } from './database.ts';
import { type Logged, openTrace, type RowChange, transactionsOf } from './trace.ts';

export type FeedTrace = AsyncDisposable & {
  /** Where a client under observation finds the service. */
  url: string;
  /** Call it after each change of the shop; no run may read the shop meanwhile. */
  shopChanged(): Promise<void>;
  /** Fails where the feed model does not explain what the runs did. @returns events that were judged, by kind. */
  judge(): Promise<Partial<Record<RecordedEvent['kind'], number>>>;
};

type Urls = { shop: string; warehouse: string; service: string; shopQueries: string };
/** As the runs of the world are configured. */
type Options = Pick<FeedRecording, 'lookbackMinutes' | 'batchSize'>;

const tables = {
  'sync.cursors': ['flow', 'position'],
  'sync.order_walk': ['began_at', 'after_code', 'orders'],
  'sync.order_links': ['order_code', 'fingerprint', 'pushed_at'],
  'sync.runs': ['id', 'job', 'outcome'],
  // The plan of each batch is written down with the run's job. Finished: a step that failed is not tried again.
  'bullmq.job': ['id', 'queue', 'name', 'data', 'failed_reason', 'finished_at_ms'],
};
type CursorRow = { flow: string; position: { at: string; code?: string; readTo?: string } };
type WalkRow = { began_at: string; orders: number };
type LinkRow = { order_code: string; fingerprint: string | null; pushed_at: string | null };
type RunRow = { id: string; job: string; outcome: string | null };
type JobRow = { id: string; name: string; data: unknown; failed_reason: string | null; finished_at_ms: number | null };

/** An order as the feed shows it, and the fingerprint of what the shop has. */
type FeedOrder = { date: number; fingerprint: string };
type ShopState = Record<string, FeedOrder>;

/**
 * Records what runs of `sync orders` do from now on, in a shop of the tables `o` and `l` (order-shop.ts) whose feed shows
 * `o.updated_at`. The queue is in the warehouse.
 */
export async function recordFeedTrace(urls: Urls, options: Options): Promise<FeedTrace> {
  const trace = await openTrace({ warehouseUrl: urls.warehouse, serviceUrl: urls.service }, tables);
  const shop = openShop({ url: urls.shop, sqlDir: urls.shopQueries, connections: 1 });
  const readShop = async (): Promise<ShopState> => {
    const rows = await queryAgain<{ code: string; at: string }>(
      urls.shop,
      `select code, to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from o`,
    );
    const raws = await shop.orders(rows.map(({ code }) => code));
    const dates = new Map(rows.map(({ code, at }) => [code, instantOf(at)]));
    const orders = raws.flatMap((raw): [string, FeedOrder][] => {
      const prepared = prepareOrder(raw, new Map());
      if (!('order' in prepared)) return [];
      const { code } = prepared.order;
      return [[code, { date: dates.get(code) ?? 0, fingerprint: desiredOrder(prepared, new Map()).fingerprint }]];
    });
    return Object.fromEntries(orders);
  };
  const shopAtBegin = await readShop();
  const [links, cursors, walks] = await Promise.all([
    queryAgain<LinkRow>(urls.warehouse, 'select order_code, fingerprint, pushed_at from sync.order_links'),
    queryAgain<CursorRow>(urls.warehouse, `select flow, position from sync.cursors where flow = 'orders'`),
    queryAgain<WalkRow>(urls.warehouse, 'select began_at, orders from sync.order_walk'),
  ]);
  return {
    url: trace.url,
    shopChanged: async () => trace.note('shop', await readShop()),
    async judge() {
      const versions = versionNames();
      const orders = shopOrders(shopAtBegin, versions);
      const pushed = Object.fromEntries(
        links.map(({ order_code, fingerprint }) => [
          order_code,
          fingerprint === null ? null : versions(order_code, fingerprint),
        ]),
      );
      const [cursor, walk] = [cursors[0], walks[0]];
      const recording: FeedRecording = {
        ...options,
        begin: { orders, pushed, cursor: cursor ? cursorOf(cursor) : null, walk: walk ? walkOf(walk) : null },
        events: eventsOf(await trace.logged(), versions),
      };
      expectExplained(judgeFeed(recording), 'the runs of orders', recording.events);
      const kinds = Map.groupBy(recording.events, ({ kind }) => kind);
      return Object.fromEntries([...kinds].map(([kind, events]) => [kind, events.length]));
    },
    async [Symbol.asyncDispose]() {
      await trace[Symbol.asyncDispose]();
      await shop.close();
    },
  };
}

/** Numbers the contents of each order. One that comes back has the number that it had. */
function versionNames(): (code: string, fingerprint: string) => number {
  const known = new Map<string, string[]>();
  return (code, fingerprint) => {
    const all = known.get(code) ?? [];
    known.set(code, all);
    if (!all.includes(fingerprint)) all.push(fingerprint);
    return all.indexOf(fingerprint);
  };
}
type Versions = ReturnType<typeof versionNames>;

const shopOrders = (state: ShopState, versions: Versions): Record<string, ShopOrder> =>
  Object.fromEntries(
    Object.entries(state).map(([code, { date, fingerprint }]) => [
      code,
      { date, version: versions(code, fingerprint) },
    ]),
  );

function eventsOf(log: readonly Logged[], versions: Versions): RecordedEvent[] {
  const orderRuns = new Set<string>();
  return transactionsOf(log).flatMap((committed) =>
    committed.flatMap(({ kind, data }): RecordedEvent[] => {
      switch (kind) {
        case 'shop':
          return [{ kind: 'shop', orders: shopOrders(data as ShopState, versions) }];
        case 'sync.cursors': {
          const { new: now } = data as RowChange<CursorRow>;
          return now?.flow === 'orders' ? [{ kind: 'cursor', ...cursorOf(now) }] : [];
        }
        case 'sync.order_walk': {
          const { new: now } = data as RowChange<WalkRow>;
          return [{ kind: 'walk', walk: now && walkOf(now) }];
        }
        case 'sync.order_links':
          return pushOf(data as RowChange<LinkRow>, versions);
        case 'sync.runs': {
          const { old, new: now } = data as RowChange<RunRow>;
          if (now?.job === 'sync-orders') orderRuns.add(now.id);
          const hasEnded = now?.job === 'sync-orders' && old?.outcome !== now.outcome;
          // A run that failed for good, or that the queue lost, ends unseen in the model.
          if (!hasEnded || (now.outcome !== 'done' && now.outcome !== 'incomplete')) return [];
          return [{ kind: 'end', run: now.id, isDone: now.outcome === 'done' }];
        }
        case 'bullmq.job':
          return jobEvent(data as RowChange<JobRow>, orderRuns);
        default:
          return [];
      }
    }),
  );
}

function pushOf({ old, new: now }: RowChange<LinkRow>, versions: Versions): RecordedEvent[] {
  if (!now?.pushed_at || now.fingerprint === null) return [];
  const isPushed = !old?.pushed_at || Date.parse(now.pushed_at) > Date.parse(old.pushed_at);
  const { order_code: code, fingerprint } = now;
  return isPushed ? [{ kind: 'push', code, version: versions(code, fingerprint) }] : [];
}

/** A batch that is planned, or a step that failed for good. */
function jobEvent({ old, new: now }: RowChange<JobRow>, orderRuns: ReadonlySet<string>): RecordedEvent[] {
  if (!now) return [];
  if (now.name === 'push-orders') {
    const { runId } = now.data as StepData;
    const hasFailed = now.failed_reason !== null && now.finished_at_ms !== null && old?.finished_at_ms === null;
    return hasFailed && orderRuns.has(runId) ? [{ kind: 'failed', run: runId }] : [];
  }
  const data = now.data as RunData;
  const isPlanned = data.stage === 'adding' && JSON.stringify(old?.data) !== JSON.stringify(data);
  if (now.name !== 'sync-orders' || !isPlanned) return [];
  const { shopNow, readTo, upTo } = data.state as SyncState;
  // Orders that are read again for another reason have a time at which that was planned.
  const steps = (data.steps ?? []) as { codes: string[]; plannedAt?: string }[];
  const codes = steps.flatMap((step) => (step.plannedAt === undefined ? step.codes : []));
  const clock = { now: Date.parse(readTo), shopNow: instantOf(shopNow) };
  return [
    {
      kind: 'plan',
      run: now.id,
      codes,
      clock,
      upTo: upTo ? { at: instantOf(upTo.at), code: upTo.code } : null,
    },
  ];
}

function cursorOf({ position: { at, code = '', readTo } }: CursorRow) {
  return { at: instantOf(at), code, readTo: readTo === undefined ? null : Date.parse(readTo) };
}

const walkOf = ({ began_at, orders }: WalkRow) => ({ beganAt: instantOf(began_at), passed: Number(orders) });

/** Milliseconds since 1970 of a text in UTC, microseconds behind the point. */
function instantOf(text: string): number {
  const iso = text.replace(' ', 'T').replace(/\+00(:00)?$/, 'Z');
  const micros = Number((/\.(\d+)/.exec(iso)?.[1] ?? '').padEnd(6, '0').slice(3, 6));
  return Math.floor(Date.parse(iso)) + micros / 1000;
}
