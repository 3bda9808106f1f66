/**
 * Loaded before a command (`node --import`): measures what its eight requests at a time wait for, from the first
 * request to the last. At each moment, the share of the eight that is not in flight counts for the statements under
 * way, in equal parts. If there are none, it counts for `nothing`: then this process itself is at work. Writes the
 * shares as JSON into SLOT_TIMES_FILE.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import pg from 'pg';

const inFlight = 8;

const waits = ['request', 'shop', 'lease', 'lines', 'record', 'other', 'nothing'] as const;
type Wait = (typeof waits)[number];
/** Parts of the time of all eight; `busy`: the part of the time in which this process worked. */
export type SlotTimes = Record<Wait | 'busy', number>;

const file = process.env.SLOT_TIMES_FILE;
const underWay = new Map<Wait, number>();
const sums = new Map<Wait, number>();
let lastMs = 0;
/** The sums as of the end of the last request. */
let atLast = sums;
let loop = performance.eventLoopUtilization();

function change(wait: Wait, by: number): void {
  const nowMs = performance.now();
  const count = (one: Wait) => underWay.get(one) ?? 0;
  const requests = Math.min(inFlight, count('request'));
  const statements = waits.filter((one) => one !== 'request' && count(one) > 0);
  const add = (one: Wait, ms: number) => sums.set(one, (sums.get(one) ?? 0) + ms);
  const ms = (nowMs - lastMs) / inFlight;
  if (lastMs > 0) {
    add('request', requests * ms);
    const free = statements.length > 0 ? statements : (['nothing'] as const);
    for (const one of free) add(one, ((inFlight - requests) * ms) / free.length);
  }
  if (lastMs === 0 && wait === 'request') loop = performance.eventLoopUtilization();
  if (lastMs > 0 || wait === 'request') lastMs = nowMs;
  underWay.set(wait, count(wait) + by);
  if (wait === 'request' && by < 0) atLast = new Map(sums);
}

subscribe('undici:client:sendHeaders', () => change('request', 1));
for (const end of ['undici:request:trailers', 'undici:request:error']) subscribe(end, () => change('request', -1));

const shop = new URL(process.env.SHOP_DATABASE_URL ?? 'postgres://none/none').pathname.slice(1);

/** write_orders.sql writes lines before a creation. Without a length of the lease it records a push. */
function waitOf(database: string | undefined, text: string, values: readonly unknown[] = []): Wait {
  if (database === shop) return 'shop';
  if (/insert into sync\.order_links as l|from sync\.sub_order_links where order_code/.test(text)) return 'lease';
  if (!text.startsWith('-- Writes orders whose lease is still ours')) return 'other';
  return values[1] === null ? 'record' : 'lines';
}

type Query = (this: pg.Client, ...given: unknown[]) => unknown;
const query = pg.Client.prototype.query as Query;
pg.Client.prototype.query = function measured(this: pg.Client & { database?: string }, ...given: unknown[]) {
  const [first] = given;
  const config = first as { text?: string; values?: unknown[] } | undefined;
  const values = config?.values ?? (Array.isArray(given[1]) ? given[1] : undefined);
  const wait = waitOf(this.database, String(config?.text ?? first), values);
  change(wait, 1);
  const callback = given.at(-1);
  const ended = () => change(wait, -1);
  if (typeof callback === 'function')
    return query.call(this, ...given.slice(0, -1), (...result: unknown[]) => {
      ended();
      callback(...result);
    });
  const result = query.call(this, ...given);
  if (result instanceof Promise) result.then(ended, ended);
  else ended();
  return result;
} as typeof pg.Client.prototype.query;

process.on('exit', () => {
  if (file === undefined) return;
  const all = [...atLast.values()].reduce((sum, ms) => sum + ms, 0);
  const { utilization: busy } = performance.eventLoopUtilization(loop);
  writeFileSync(
    file,
    JSON.stringify({ ...Object.fromEntries(waits.map((one) => [one, (atLast.get(one) ?? 0) / all])), busy }),
  );
});
