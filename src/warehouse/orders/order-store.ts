import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import { asStorableJson } from '../../base/json-text.ts';
import { openBatch } from '../batch.ts';
import { type NewDeadLetter, putDeadLetters } from '../dead-letters.ts';
import { type Db, listOf, plannedRowsOf, rowsOf, valuesOf, type Warehouse, write } from '../index.ts';
import { alikeOrders, type ContactDecision, type LineLinkRow, type OrderLink, orderLines } from './order-links.ts';
import { type Removals, takeRemovals } from './removal-allowance.ts';

/** The lease expired while its holder was frozen or cut off, and another process has taken it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** A new holder of a lease: machine, process, and a random id for one piece of its work. */
const newOwner = () => `${hostname()}:${process.pid}:${randomUUID().slice(24)}`;

/** An order that this process alone may push until the lease expires. */
export type LeasedOrder = Readonly<{
  orderCode: string;
  token: string;
  /** The link after the lease was taken. If an earlier push died, the fingerprint is unknown, and the order is due. */
  link: OrderLink;
  /** The warehouse had no link: the order was never pushed, or was deleted at the service and forgotten. */
  isNew: boolean;
}> & {
  /** As the warehouse has them. */
  lines: readonly LineLinkRow[];
  /** Another order went before this one (alikeOrders) when the lease was taken. */
  isAlike: boolean;
  /** The order was deleted at the service and forgotten after it was read. */
  isForgotten: boolean;
  /** When the lease was last known to be ours, by `performance.now()`. */
  renewedAtMs: number;
};

/**
 * The order to lease. Before its first push, the lease records its contact decision and date. `isForGood`: if no push
 * is recorded, an earlier `allowed` becomes `withheld`. `readAt`: the warehouse's clock just before the order was read
 * from the shop.
 */
type WantedLease = {
  code: string;
  contact: NonNullable<ContactDecision>;
  isForGood: boolean;
  orderedAt: Date | null;
  readAt?: Date;
};

export type PushRecord = {
  orderId: number | null;
  fingerprint: string | null;
  sentFields: readonly string[];
  failedPushes: number;
  /** False: nobody knows whether the service has the order, or whether the id belongs to it. */
  isAnswered: boolean;
  /** When to push the order again although the shop did not change it, in milliseconds from now; null: never. */
  dueAfterMs: number | null;
  userGradeCode: string | undefined;
  userGradeId: number | undefined;
  orderedAt: Date | null;
  /** All line links of the order: others are deleted. */
  lines: readonly LineLinkRow[];
  waiting: readonly { lineCode: string; productCode: string }[];
  deadLetters: readonly NewDeadLetter[];
};

export type OrderStore = ReturnType<typeof openOrderStore>;

/**
 * The warehouse's part of pushing an order. Calls of many orders are sent as one statement.
 *
 * If a push of an order has begun and was not recorded, the order has a `lease_owner`, whether or not that process is
 * alive. This alone makes it due (due_orders.sql).
 *
 * @param leaseMs the length of a lease after it was taken or renewed, in milliseconds: longer than any request.
 */
export function openOrderStore(warehouse: Warehouse, { leaseMs }: { leaseMs: number }) {
  const { db } = warehouse;
  const writeOrders = (items: readonly LeaseKey[], renewForMs: number | null) =>
    areOurs(items, plannedRowsOf(warehouse, 'write_orders', items.length, asStorableJson(items), renewForMs));
  const save = openBatch((items: readonly LeaseKey[]) => writeOrders(items, leaseMs));
  const record = openBatch((pushes: readonly RecordedPush[]) =>
    pushes.every(({ deadLetters }) => deadLetters.length === 0)
      ? writeOrders(pushes, null)
      : recordWithDeadLetters(db, pushes),
  );

  return {
    /** Takes the lease of an order. @returns the order's links, or the process that has the lease. */
    lease: openBatch((wanted: readonly WantedLease[]) => leaseOrders(warehouse, leaseMs, wanted)),

    /** Writes line links that differ, before the requests that create or take over sub-orders. @throws LeaseLostError */
    async saveLines(leased: LeasedOrder, lines: readonly LineLinkRow[]): Promise<void> {
      const columns = lineColumns(leased, lines);
      if (columns.lines.length === 0 && lines.length === leased.lines.length) return;
      requireOurs(leased, await renewed(leased, save({ ...leaseOf(leased), ...columns })));
      leased.lines = lines;
    },

    /** Renews the lease for as long as the push lasts: its requests may wait long for a slot. */
    keepAlive(leased: LeasedOrder): Disposable {
      // Ignore a renewal that fails: `assertLease` sees that the lease is old.
      const timer = setInterval(() => void renewed(leased, save(leaseOf(leased))).catch(() => {}), leaseMs / 10);
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },

    /**
     * Throws unless a request may be sent now. The service cannot tell an old holder from a new one, so a request may be
     * sent only within a quarter of the lease after its renewal. A lease of 180 s allows 45 s, and leaves 130 s for the request (10 s to connect, 60 s each for
     * head and body of the response) and 5 s for clocks.
     *
     * @throws LeaseLostError
     */
    assertLease: (leased: LeasedOrder): void =>
      requireOurs(leased, performance.now() - leased.renewedAtMs <= leaseMs / 4),

    /** Records the outcome of a push in one transaction, and gives the lease back. @throws LeaseLostError */
    record: async (leased: LeasedOrder, push: PushRecord): Promise<void> =>
      requireOurs(leased, await record({ ...leaseOf(leased), ...recordColumns(leased, push) })),

    /** Takes the removals of an order from the day's allowance. @returns whether they may be made. */
    takeRemovals: openBatch((orders: readonly Removals[]) => takeRemovals(db, orders)),

    /** Forgets an order that was deleted at the service. @throws LeaseLostError */
    async forget(leased: LeasedOrder): Promise<void> {
      const forgotten = await rowsOf(db, 'forget_orders', JSON.stringify([leaseOf(leased)]));
      requireOurs(leased, forgotten.length > 0);
    },

    /**
     * Gives the lease back without a record. `isBrokenOff`: nobody knows what the service has, so the order is due.
     * Otherwise no line was saved or sent: a known order is as due as before, and a new order is forgotten.
     */
    async release({ orderCode, token, isNew }: LeasedOrder, { isBrokenOff }: { isBrokenOff: boolean }): Promise<void> {
      const isOurs = sql`order_code = ${orderCode} and lease_owner = ${token}`;
      if (isNew && !isBrokenOff) await write(db)`delete from sync.order_links where ${isOurs}`;
      else
        await write(db)`
          update sync.order_links set lease_owner = null, lease_expires_at = null,
            fingerprint = case when not ${isBrokenOff} then fingerprint end,
            due_at = case when ${isBrokenOff} then clock_timestamp() else due_at end
          where ${isOurs}`;
    },
  };
}

type LeaseKey = { orderCode: string; token: string };
type RecordedPush = LeaseKey & Pick<PushRecord, 'deadLetters'>;

const leaseOf = ({ orderCode, token }: LeasedOrder): LeaseKey => ({ orderCode, token });

/** @throws LeaseLostError */
function requireOurs({ orderCode }: LeasedOrder, isOurs: boolean): void {
  if (!isOurs) throw new LeaseLostError(`the lease of order ${orderCode} was not renewed in time`);
}

/** Notes that the lease was renewed when the write began, or that it is lost. @returns whether it is still ours. */
async function renewed(leased: LeasedOrder, writing: Promise<boolean>): Promise<boolean> {
  const askedAtMs = performance.now();
  const isOurs = await writing;
  leased.renewedAtMs = isOurs ? askedAtMs : Number.NEGATIVE_INFINITY;
  return isOurs;
}

/** Which items still have our lease: the statement returns their orders. */
async function areOurs(items: readonly LeaseKey[], ours: Promise<{ orderCode: string }[]>): Promise<boolean[]> {
  const codes = new Set((await ours).map((row) => row.orderCode));
  return items.map((item) => codes.has(item.orderCode));
}

async function leaseOrders(warehouse: Warehouse, leaseMs: number, wanted: readonly WantedLease[]) {
  const { db } = warehouse;
  const items = wanted.map((one) => ({ ...one, token: newOwner() }));
  const renewedAtMs = performance.now();
  type Row = OrderLink & { token: string; isNew: boolean };
  const leased = await plannedRowsOf<Row>(warehouse, 'lease_orders', items.length, JSON.stringify(items), leaseMs);
  const byToken = new Map(leased.map((row) => [row.token, row]));
  const ours = leased.map(({ orderCode }) => orderCode);
  // A new order has no lines yet.
  const known = leased.filter((row) => !row.isNew).map(({ orderCode }) => orderCode);
  const lines = await orderLines(db, known);
  const alike = await alikeOrders(db, ours);
  const areAlike = new Set(alike.map((one) => one.orderCode));
  const added = leased.filter((row) => row.isNew).map(({ orderCode }) => orderCode);
  const firstReading = Math.min(...wanted.map(({ readAt = new Date() }) => readAt.getTime()));
  const forgotten = await forgottenSince(db, added, new Date(firstReading));
  const elsewhere = items.filter(({ token }) => !byToken.has(token)).map(({ code }) => code);
  const leases = await otherLeases(db, elsewhere);
  return items.map(({ code: orderCode, token }): LeasedOrder | OtherLease => {
    const row = byToken.get(token);
    if (!row) return leases.get(orderCode) ?? { orderCode, leasedBy: 'another process', leasedUntil: new Date() };
    const { token: _, isNew, ...link } = row;
    const found = {
      lines: lines.get(orderCode) ?? [],
      isAlike: areAlike.has(orderCode),
      isForgotten: forgotten.has(orderCode),
    };
    return { orderCode, token, link, ...found, isNew, renewedAtMs };
  });
}

function recordWithDeadLetters(db: Db, pushes: readonly RecordedPush[]): Promise<boolean[]> {
  return db.transaction().execute(async (trx) => {
    const ours = await areOurs(pushes, rowsOf(trx, 'write_orders', asStorableJson(pushes), null));
    const ofOurs = pushes.flatMap(({ deadLetters }, at) => (ours[at] ? deadLetters : []));
    await putDeadLetters(trx, ofOurs);
    return ours;
  });
}

/** The orders deleted at the service and forgotten since then: forget_orders.sql leaves a dead letter. */
async function forgottenSince(db: Db, codes: readonly string[], since: Date): Promise<Set<string>> {
  if (codes.length === 0) return new Set();
  // Without statistics, Postgres expects one row in two hundred between two bounds, and a third of them above one. With
  // `infinity`, it uses the index dead_letters_by_resolution.
  const forgotten = await valuesOf<string>(db)`
    select order_code from sync.dead_letters
    where resolved_at between ${since} and 'infinity' and order_code = any(${codes})`;
  return new Set(forgotten);
}

/** Another process is pushing the order. `leasedUntil`: when its lease expires without a renewal. */
export type OtherLease = { orderCode: string; leasedBy: string; leasedUntil: Date };

/** The processes that are pushing these orders, by code. */
async function otherLeases(db: Db, codes: readonly string[]): Promise<Map<string, OtherLease>> {
  if (codes.length === 0) return new Map();
  const leases = await listOf<OtherLease>(db)`
    select order_code as "orderCode", lease_owner as "leasedBy", lease_expires_at as "leasedUntil"
    from sync.order_links where order_code = any(${codes}) and lease_owner is not null`;
  return new Map(leases.map((lease) => [lease.orderCode, lease]));
}

/** A link that has not changed is the same object. */
function lineColumns(leased: LeasedOrder, lines: readonly LineLinkRow[]) {
  const saved = new Set(leased.lines);
  return { lines: lines.filter((line) => !saved.has(line)), lineCodes: lines.map(({ lineCode }) => lineCode) };
}

const recordColumns = (leased: LeasedOrder, push: PushRecord) => ({
  ...push,
  ...lineColumns(leased, push.lines),
  dueAt: leased.link.dueAt,
  waiting: Object.fromEntries(push.waiting.map(({ lineCode, productCode }) => [lineCode, productCode])),
});
