import type { LimitFunction } from 'p-limit';
import type { Counts } from '../../base/counts.ts';
import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';
import type { OtherLease } from '../../warehouse/orders/order-links.ts';
import type { DesiredOrder } from '../order/desired-order.ts';
import { type PushDeps, pushOrder } from './push-order.ts';

/** Orders whose push goes on. An object, because `await` of a bare promise would wait for their end too. */
export type Begun<T> = { ended: Promise<T> };

/** How often to look whether another process has finished an order that it is pushing, in milliseconds. */
const lookAgainMs = 500;

/** `slots`: for the orders that this process pushes at the same time. */
export type PushesDeps = PushDeps & { slots: LimitFunction };

/**
 * Pushes the orders side by side, as `deps.slots` allows, and those that another process is pushing once it has finished.
 *
 * @returns when all of them have begun: there is room for others then. `ended` rejects with the first failure of a system, which
 *   stops the orders that have not begun.
 */
export async function beginPushes(
  deps: PushesDeps,
  orders: readonly DesiredOrder[],
  readAt: Date,
): Promise<Begun<Counts[]>> {
  const allBegun = Promise.withResolvers<void>();
  const ended = pushAll(deps, orders, readAt, allBegun.resolve);
  await allBegun.promise;
  return { ended };
}

async function pushAll(
  deps: PushesDeps,
  orders: readonly DesiredOrder[],
  readAt: Date,
  onAllBegun: () => void,
): Promise<Counts[]> {
  const counts: Counts[] = [];
  const failures: unknown[] = [];
  let waiting = [...orders];
  let waitsFor: string | undefined;
  while (waiting.length > 0) {
    const elsewhere: { order: DesiredOrder; lease: OtherLease }[] = [];
    const last = waiting.at(-1);
    await Promise.all(
      waiting.map((order) =>
        deps.slots(async () => {
          if (order === last) onAllBegun();
          if (failures.length > 0) return;
          try {
            const outcome = await pushOrder(deps, order, readAt);
            if (outcome.kind === 'leased-elsewhere') elsewhere.push({ order, lease: outcome.lease });
            else counts.push(outcome.counts);
          } catch (error) {
            failures.push(error);
          }
        }),
      ),
    );
    if (failures.length > 0) throw failures[0];
    deps.signal.throwIfAborted();
    waiting = elsewhere.map(({ order }) => order);
    const [first] = elsewhere;
    if (first) {
      if (first.lease.leasedBy !== waitsFor) sayWaiting(deps, first.lease, elsewhere.length);
      waitsFor = first.lease.leasedBy;
      await waitingFor('lease', () => sleep(lookAgainMs, deps.signal));
    }
  }
  onAllBegun();
  return counts;
}

function sayWaiting({ log, onWait }: PushDeps, lease: OtherLease, orders: number): void {
  const { orderCode: order, leasedBy, leasedUntil } = lease;
  log.info({ order, leasedBy, until: leasedUntil, orders }, 'waiting for orders that another process is pushing');
  const which = orders === 1 ? `order ${order}` : `${orders} orders, ${order} among them,`;
  onWait?.({ reason: `${leasedBy} is pushing ${which} and has the lease`, untilMs: leasedUntil.getTime() });
}
