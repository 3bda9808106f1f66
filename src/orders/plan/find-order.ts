import type { OrderDetail } from '../../review-api/index.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { Requests, Sent } from '../requests.ts';
import { isSameCode } from './same-value.ts';

/**
 * The order as the service shows it: by its id, then by its code. The response to the push that made it may have been
 * lost; or the service has made it again under another id, and given the id to another order. A service need not look
 * orders up by code; then what its id says counts. No order is created to learn its id.
 */
export async function findOrder(
  { api }: Pick<OrderDeps, 'api'>,
  { code, orderId }: { code: string; orderId: number | null | undefined },
  { read }: Pick<Requests, 'read'>,
): Promise<Sent<OrderDetail>> {
  const known = orderId == null ? undefined : await read((options) => api.orders.get(orderId, options));
  const isOurs = known?.kind === 'done' && isSameCode(known.value.code, code);
  if (known && (isOurs || (known.kind !== 'done' && known.kind !== 'absent'))) return known;
  const found = await read((options) => api.orders.getByCode(code, options));
  if (found.kind !== 'failed') return found;
  return known
    ? { kind: 'absent' }
    : { ...found, reason: `the service does not look orders up by code: ${found.reason}` };
}
