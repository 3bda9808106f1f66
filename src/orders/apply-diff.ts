import type { Counts } from '../counts.ts';
import type { Logger } from '../log.ts';
import { RefusedError, type ReviewApi } from '../review-api/index.ts';
import type { NewDeadLetter } from '../warehouse/dead-letters.ts';
import type { SubOrderLink } from '../warehouse/links.ts';
import type { Line, SubOrderDiff } from './diff-sub-orders.ts';
import { lineKey } from './prepare-order.ts';

/** What applying a difference has done so far: filled as it goes, so that an error leaves what was done before it. */
export type Applied = { links: SubOrderLink[]; forget: string[]; letters: NewDeadLetter[]; counts: Counts };

export const nothingApplied = (): Applied => ({ links: [], forget: [], letters: [], counts: {} });

type ApplyDeps = { api: Pick<ReviewApi, 'subOrders'>; log: Logger; signal: AbortSignal };

/**
 * The links that must be written before a sub-order is added: should its answer be lost, the new sub-order is the one
 * that was not among `idsBefore`.
 */
export function pendingLinks(diff: SubOrderDiff, idsBefore: readonly number[]): SubOrderLink[] {
  return diff.add.map((line) => ({ ...line, subOrderId: null, idsBefore: [...idsBefore] }));
}

/**
 * Sends what one order's difference asks for (spec, "Sub-orders"). A line that the service refuses becomes a dead
 * letter; all other errors are thrown.
 */
export async function applyDiff(
  deps: ApplyDeps,
  order: { id: number; code: string },
  diff: SubOrderDiff,
  idsBefore: readonly number[],
  applied: Applied,
): Promise<void> {
  const count = (kind: string) => {
    applied.counts[kind] = (applied.counts[kind] ?? 0) + 1;
  };
  const unlessRefused = async (line: Line, write: () => Promise<void>) => {
    deps.signal.throwIfAborted();
    try {
      await write();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const key = lineKey(order.code, line.lineCode);
      const payload = { order_code: order.code, ...line };
      applied.letters.push({ kind: 'order_line', key, reason: error.message, payload });
      count('lines_refused');
    }
  };

  for (const { subOrderId, patch, ...line } of diff.change) {
    await unlessRefused(line, async () => {
      await deps.api.subOrders.update(order.id, subOrderId, patch);
      applied.links.push({ ...line, subOrderId, idsBefore: line.idsBefore && [...line.idsBefore] });
      count('sub_orders_changed');
    });
  }
  for (const { lineCode, subOrderId } of diff.remove) {
    deps.signal.throwIfAborted();
    await deps.api.subOrders.remove(order.id, subOrderId);
    applied.forget.push(lineCode);
    deps.log.info({ order: order.code, line: lineCode, subOrderId }, 'removed the sub-order of a line that is gone');
    count('sub_orders_removed');
  }
  for (const { lineCode, subOrderId, why } of diff.spared) {
    deps.log.warn({ order: order.code, line: lineCode, subOrderId, why }, 'kept the sub-order of a line that is gone');
    count('sub_orders_spared');
  }
  for (const line of diff.add) {
    await unlessRefused(line, async () => {
      const { id } = await deps.api.subOrders.create(order.id, line.content);
      applied.links.push({ ...line, subOrderId: id, idsBefore: [...idsBefore] });
      count('sub_orders_added');
    });
  }
}
