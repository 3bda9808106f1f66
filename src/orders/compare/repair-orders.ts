import { addCounts, type Counts } from '../../base/counts.ts';
import { warehouseNow } from '../../warehouse/clock.ts';
import { markOrdersUnsure } from '../../warehouse/orders/order-links.ts';
import { pushStep, type SliceDeps } from '../push/push-slice.ts';
import { planRemovals, stepsOf } from '../which/plan-steps.ts';

/**
 * Pushes orders again that the service shows otherwise than the shop, with no e-mail address and no phone number that the
 * service does not have already. What was last pushed is not trusted: each field is compared with what the service shows.
 *
 * @param read orders that were compared, see isUnusual.
 */
export async function repairOrders(
  deps: SliceDeps,
  codes: readonly string[],
  { read }: { read: number },
): Promise<Counts> {
  const policy = { contact: 'never', removals: 'usual' } as const;
  const plannedAt = (await warehouseNow(deps.db)).toISOString();
  const counts: Counts[] = [];
  for (const step of stepsOf(codes, policy, plannedAt)) {
    await markOrdersUnsure(deps.db, step.codes);
    counts.push(await pushStep(deps, step));
  }
  for (const step of await planRemovals(deps.db, { ...policy, read })) counts.push(await pushStep(deps, step));
  return addCounts(counts);
}
