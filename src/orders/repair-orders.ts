import type { Counts } from '../base/counts.ts';
import { warehouseNow } from '../warehouse/links.ts';
import { markOrdersUnsure } from '../warehouse/order-repairs.ts';
import { pushStep, type SliceDeps } from './push-slice.ts';

/**
 * Pushes orders again that the service shows otherwise than the shop, with no e-mail address and no phone number that the
 * service does not have already. What was last pushed is not trusted: each field is compared with what the service shows.
 */
export async function repairOrders(deps: SliceDeps, codes: readonly string[]): Promise<Counts> {
  const plannedAt = (await warehouseNow(deps.db)).toISOString();
  await markOrdersUnsure(deps.db, codes);
  return pushStep(deps, { codes: [...codes], plannedAt, contact: 'never', removals: 'usual' });
}
