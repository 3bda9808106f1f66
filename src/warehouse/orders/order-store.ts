import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, sql } from 'kysely';
import { openBatch } from '../batch.ts';
import { asStorableJson, type NewDeadLetter, putDeadLetter } from '../dead-letters.ts';
import { type Db, statement } from '../index.ts';
import { LeaseLostError, newOwner } from '../leases.ts';
import { type LineLinkRow, type OrderLink, type OtherLease, orderLines, otherLeases } from './order-links.ts';
import { type LineChange, lineColumns, type PushRecord, recordColumns } from './order-record.ts';

/** An order that this process alone may push until the lease expires. */
export type Lease = Readonly<{ orderCode: string; token: string }>;
export type LeasedOrder = Lease & {
  link: OrderLink;
  lines: LineLinkRow[];
  /** Nothing is remembered of the order: no process has pushed it, or it was deleted at the service and forgotten. */
  isNew: boolean;
  /** When the lease was last known to be ours, by `performance.now()`. */
  renewedAtMs: number;
  /** A write was sent whose outcome is unknown: the service may still carry it out. The lease, which outlasts it, is kept. */
  isWriteUnderWay: boolean;
};

export type OrderStore = Awaited<ReturnType<typeof openOrderStore>>;

/**
 * What pushing an order reads and writes in the warehouse. Calls of many orders are sent as one statement, and each call
 * resolves when its statement has committed.
 *
 * @param leaseMs how long a lease lasts after it was taken or renewed, in milliseconds: longer than any request may take.
 */
export async function openOrderStore(db: Db, { leaseMs }: { leaseMs: number }) {
  const writeLineLinks = (await statement('write_line_links')).trimEnd();
  const withLineLinks = async (name: string) =>
    (await statement(name)).replace(/^@write_line_links/m, () => writeLineLinks);
  const leaseSql = await statement('lease_orders');
  const renewSql = await statement('renew_order_leases');
  const saveSql = await withLineLinks('save_order_lines');
  const recordSql = await withLineLinks('record_orders');
  const forgetSql = await statement('forget_orders');
  const rows = async <Row>(text: string, values: unknown[]) =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text, values))).rows;

  /** Runs a statement that returns the code of each order whose lease is still ours. */
  const whereOurs =
    (text: string, ...more: unknown[]) =>
    async (items: readonly { order_code: string; token: string }[]) => {
      const ours = await rows<{ orderCode: string }>(text, [asStorableJson(items), ...more]);
      const codes = new Set(ours.map((row) => row.orderCode));
      return items.map((item) => codes.has(item.order_code));
    };

  /**
   * Returns leases. Where that fails it is repeated until the leases have expired: after a broken connection the next run
   * must not wait minutes for orders that nobody is pushing. A lease that is another's by then stays as it is.
   */
  async function returnSurely(giveBack: () => Promise<unknown>): Promise<void> {
    try {
      await giveBack();
    } catch (error) {
      void returnLater(giveBack);
      throw error;
    }
  }
  async function returnLater(giveBack: () => Promise<unknown>): Promise<void> {
    const endMs = performance.now() + leaseMs;
    while (performance.now() < endMs) {
      // The process need not stay for it.
      await delay(returnAgainMs, undefined, { ref: false });
      try {
        await giveBack();
        return;
      } catch {
        // The warehouse is not back yet.
      }
    }
  }

  /** Returns leases that nobody has used. */
  const giveBack = (tokens: readonly string[]) =>
    db
      .updateTable('sync.order_links')
      .where('lease_owner', 'in', tokens)
      .set({ lease_owner: null, lease_expires_at: null })
      .execute();

  const lease = openBatch(async (codes: string[]) => {
    // Tokens of this attempt alone: those of an attempt that failed may be returned later.
    const items = codes.map((code) => ({ order_code: code, token: newOwner() }));
    const renewedAtMs = performance.now();
    let leased: (OrderLink & { token: string; isNew: boolean })[];
    let lines: Map<string, LineLinkRow[]>;
    let others: Map<string, OtherLease>;
    try {
      leased = await rows(leaseSql, [JSON.stringify(items), leaseMs]);
      const isOurs = new Set(leased.map((row) => row.token));
      lines = await orderLines(
        db,
        leased.map((row) => row.orderCode),
      );
      const elsewhere = items.filter((item) => !isOurs.has(item.token)).map((item) => item.order_code);
      others = await otherLeases(db, elsewhere);
    } catch (error) {
      // Where the connection broke, the leases may have been taken although no result came.
      await returnSurely(() => giveBack(items.map((item) => item.token))).catch(() => {});
      throw error;
    }
    const byToken = new Map(leased.map((row) => [row.token, row]));
    return items.map(({ order_code: orderCode, token }): LeasedOrder | OtherLease => {
      const row = byToken.get(token);
      if (!row) return others.get(orderCode) ?? { orderCode, leasedBy: 'another process', leasedUntil: new Date() };
      const { token: _, isNew, ...link } = row;
      return { orderCode, token, link, lines: lines.get(orderCode) ?? [], isNew, renewedAtMs, isWriteUnderWay: false };
    });
  });
  const renew = openBatch(whereOurs(renewSql, leaseMs));
  const save = openBatch(whereOurs(saveSql, leaseMs));
  const record = openBatch(whereOurs(recordSql));
  const forget = openBatch(whereOurs(forgetSql));

  return {
    leaseMs,

    /** Takes the lease of an order. @returns what is remembered of the order, or which process has the lease. */
    lease(orderCode: string): Promise<LeasedOrder | OtherLease> {
      return lease(orderCode);
    },

    /** Writes line links before the requests that create or change their sub-orders, and renews the lease. False: the lease is lost. */
    async saveLines(leased: LeasedOrder, change: LineChange): Promise<boolean> {
      const askedAtMs = performance.now();
      const isOurs = await save({ order_code: leased.orderCode, token: leased.token, ...lineColumns(change) });
      if (isOurs) leased.renewedAtMs = askedAtMs;
      return isOurs;
    },

    /** Renews the lease, unless it is lost. */
    async renew(leased: LeasedOrder): Promise<void> {
      const askedAtMs = performance.now();
      if (await renew({ order_code: leased.orderCode, token: leased.token })) leased.renewedAtMs = askedAtMs;
    },

    /**
     * Throws unless the lease outlasts a request that is sent now. The service cannot distinguish an old holder from a new one, so
     * a write may only be sent within a quarter of the lease after its renewal. Of 180 s that is 45 s, and leaves 130 s for the request (10 s to connect, 60 s
     * to the head of the response, 60 s for its body). Call it right before each write.
     *
     * @throws LeaseLostError
     */
    assertLease({ renewedAtMs, orderCode }: LeasedOrder): void {
      if (performance.now() - renewedAtMs <= leaseMs / 4) return;
      throw new LeaseLostError(`the lease of order ${orderCode} was not renewed in time`);
    },

    /**
     * Records the outcome of a push in one transaction, and returns the lease unless a write may be under way. False: the lease
     * is lost.
     */
    record({ orderCode, token, isWriteUnderWay }: LeasedOrder, push: PushRecord): Promise<boolean> {
      const item = { order_code: orderCode, token, keeps_lease: isWriteUnderWay, ...recordColumns(push) };
      return record(item);
    },

    /**
     * Records that a push ended in an error of this order alone, and returns the lease as `record` does. It writes no value of
     * the order, which may be what the warehouse refuses. The links of its lines stay as they were last written.
     */
    async recordError(
      leased: LeasedOrder,
      error: Pick<PushRecord, 'fingerprint' | 'failedPushes'> & { retryAfterMs: number; deadLetter: NewDeadLetter },
    ): Promise<void> {
      const { fingerprint, failedPushes, retryAfterMs, deadLetter } = error;
      await db.transaction().execute(async (trx) => {
        await putDeadLetter(trx, deadLetter);
        await trx
          .updateTable('sync.order_links')
          .where('order_code', '=', leased.orderCode)
          .where('lease_owner', '=', leased.token)
          .set({ fingerprint, failures: 1, failed_pushes: failedPushes, pushed_at: sql`clock_timestamp()` })
          .set({ retry_at: sql`clock_timestamp() + ${retryAfterMs} * interval '1 millisecond'` })
          .set({ lines_unsure: true, removals_wanted: sql`case when removals_held then removals_wanted else 0 end` })
          .$if(!leased.isWriteUnderWay, (update) => update.set({ lease_owner: null, lease_expires_at: null }))
          .execute();
      });
    },

    /** Whether another order of the shop is linked to this order of the service: its code may only be written otherwise. */
    async isLinkedTwice(orderId: number, orderCode: string): Promise<boolean> {
      const other = await db
        .selectFrom('sync.order_links')
        .where('order_id', '=', orderId)
        .where('order_code', '<>', orderCode)
        .select('order_code')
        .executeTakeFirst();
      return other !== undefined;
    },

    /** Forgets an order that was deleted at the service. False: the lease is lost. */
    forget({ orderCode, token }: Lease): Promise<boolean> {
      return forget({ order_code: orderCode, token });
    },

    /**
     * Returns the lease without a record; not while a write may be under way: then the lease expires by itself. Where it
     * throws, the lease is returned later.
     *
     * @param wasSent false: no request about the order was sent under this lease.
     */
    async release(
      { orderCode, token, isWriteUnderWay }: LeasedOrder,
      { wasSent }: { wasSent: boolean },
    ): Promise<void> {
      if (isWriteUnderWay) return;
      await returnSurely(async () => {
        if (!wasSent) {
          await db
            .deleteFrom('sync.order_links')
            .where('order_code', '=', orderCode)
            .where('lease_owner', '=', token)
            .where('pushed_at', 'is', null)
            .where('order_id', 'is', null)
            .execute();
        }
        await db
          .updateTable('sync.order_links')
          .where('order_code', '=', orderCode)
          .where('lease_owner', '=', token)
          .set({ lease_owner: null, lease_expires_at: null })
          .$if(wasSent, (update) => update.set({ fingerprint: null, lines_unsure: true }))
          .execute();
      });
    },
  };
}

/** How long to wait before leases are returned again, in milliseconds. */
const returnAgainMs = 1000;
