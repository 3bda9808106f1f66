import type { RawOrder } from '../../shop/orders.ts';
import { contactFields, type PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { isNeverPushed, memoryOf } from '../plan/order-memory.ts';
import { planOrder } from '../plan/plan-order.ts';
import { beginPlanning, readOrders } from '../plan/read-orders.ts';

const nothingForecast = () => ({
  orders: 0,
  /** Orders that need no request: the service has them as they are, or the shop deleted them before their push. */
  unchanged: 0,
  toSend: 0,
  /** Orders to send that the shop has deleted. At most these are deleted at the service (promise 6). */
  toDelete: 0,
  /** Upserts and new sub-orders. Changes of existing sub-orders may come on top. */
  requests: 0,
  /** Orders and lines that would become dead letters: how many, and by reason. */
  faulty: 0,
  faults: [] as { reason: string; count: number; example: string }[],
  waitingLines: 0,
  /** Different customers of the orders to send, if the shop has their e-mail or phone. */
  reachable: 0,
  /** Reachable customers whose contact would be sent (promise 7). The service may mail them. */
  withContact: 0,
});

export type OrdersForecast = ReturnType<typeof nothingForecast>;

/**
 * What a push of these orders would send. Asks the service nothing, writes nothing.
 *
 * @param pages the orders as the shop shows them, each once.
 */
export async function forecastOrders(deps: OrderDeps, pages: AsyncIterable<RawOrder[]>, rights: PushRights) {
  const planning = await beginPlanning(deps, rights);
  const customers = new Set<string>();
  const withContact = new Set<string>();
  const faults = new Map<string, OrdersForecast['faults'][number]>();
  const sums = nothingForecast();
  for await (const raws of pages) {
    deps.signal.throwIfAborted();
    sums.orders += raws.length;
    for (const { code, order, link, nothing, deadLetter } of await readOrders(deps, raws, planning)) {
      for (const { reason, key } of order?.faulty ?? (deadLetter ? [{ ...deadLetter, key: code }] : [])) {
        const { count, example } = faults.get(reason) ?? { count: 0, example: key };
        faults.set(reason, { reason, count: count + 1, example });
        sums.faulty += 1;
      }
      sums.waitingLines += order?.waiting.length ?? 0;
      if (nothing) sums.unchanged += 1;
      if (!order || nothing) continue;
      sums.toSend += 1;
      if (order.order.deletedAt && rights.deletes === 'send') sums.toDelete += 1;
      const plan = planOrder(order, 'unknown', memoryOf(link), planning);
      sums.requests += plan.requests.length + (isNeverPushed(link) ? order.lines.length : 0);
      const [customer] = contactFields.flatMap((field) => order.body[field] ?? []);
      if (!customer) continue;
      customers.add(customer);
      if (plan.withheld.length === 0) withContact.add(customer);
    }
  }
  const byCount = [...faults.values()].sort((a, b) => b.count - a.count);
  return { ...sums, faults: byCount, reachable: customers.size, withContact: withContact.size };
}
