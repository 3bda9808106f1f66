import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import type { Counts } from '../src/base/counts.ts';
import type { Second } from '../src/base/time/span.ts';
import type { PushPolicy } from '../src/orders/order/desired-order.ts';
import { pushStep } from '../src/orders/push/push-slice.ts';
import { countDueOrders, removeAbsentOrders } from '../src/orders/push/remove-absent-orders.ts';
import { keepKeylessOrders } from '../src/orders/which/keyless-orders.ts';
import { planRescan, type RescanStep } from '../src/orders/which/plan-rescan.ts';
import { planRemovals } from '../src/orders/which/plan-steps.ts';
import { rescanAbsent, rescanSpan } from '../src/orders/which/rescan.ts';
import type { StepJob } from '../src/queue/job.ts';
import { countKnownOrders } from '../src/warehouse/orders/absent-orders.ts';
import { pruneMissedOrders } from '../src/warehouse/orders/missed-orders.ts';
import { reasonDays } from '../src/warehouse/runs/retention.ts';
import { countHeldRemovals } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { number, object, oneOf, optionalText, texts } from './payload.ts';

/** `allowRemovals`: delete also what looks like an accident, because somebody said that it is right. */
export type RescanOrders = { allowRemovals: boolean };

type Step = RescanStep & { removals: PushPolicy['removals'] };

/** `isRemoving`: as in SyncState. */
type State = { runId: string; removals: PushPolicy['removals']; start?: Second; isRemoving?: true };

/** Step: reads a part of the young orders again. */
const rescanStep: StepJob<App, Step> = {
  name: 'rescan-orders',
  parse(payload) {
    const step = object(payload);
    const kind = oneOf(step, 'kind', ['created', 'absent', 'keyless', 'push']);
    const removals = oneOf(step, 'removals', ['usual', 'approved', 'all']);
    if (kind === 'push') return { kind, codes: texts(step, 'codes'), ...optionalText(step, 'plannedAt'), removals };
    if (kind === 'keyless') return { kind, removals };
    if (kind === 'absent') return { kind, before: number(step, 'before'), removals };
    const end = step.end === undefined ? {} : { end: number(step, 'end') };
    return { kind, start: number(step, 'start'), ...end, removals };
  },
  run: (app, step, run) => app.sliceSlots(() => runRescanStep(app, step, run)),
};

async function runRescanStep(app: App, step: Step, at: { runId: string; signal: AbortSignal }): Promise<Counts> {
  const { removals } = step;
  const deps = {
    ...orderDeps(app, at.signal),
    runId: at.runId,
    removals,
    lookbackMinutes: app.config.orderOverlapMinutes,
  };
  if (step.kind === 'push') return pushStep(deps, { ...step, contact: 'young' });
  if (step.kind === 'created') return rescanSpan(deps, { start: step.start, end: step.end });
  if (step.kind === 'absent') return rescanAbsent(deps, step.before);
  const { found, problem } = await keepKeylessOrders({ shop: app.shop, db: app.warehouse.db });
  return { orders_without_key: found, keyless_checks_cut: problem === undefined ? 0 : 1 };
}

/**
 * Scheduled with the reconcile: reads the young orders again, for changes that were missed and orders that are gone.
 */
export const rescanOrders = defineRun({
  name: 'rescan-orders',
  schedule: 'reconcile',
  step: rescanStep,
  priority: 20,
  deadLetters: ['order', 'order_line'],
  conclusion: countHeldRemovals,
  completesAlways: true,
  parse: (payload): RescanOrders => ({ allowRemovals: object(payload).allowRemovals === true }),
  async plan(app, { allowRemovals }, { id: runId }) {
    const removals: PushPolicy['removals'] = allowRemovals ? 'all' : 'usual';
    const { start, steps } = await planRescan({ shop: app.shop, db: app.warehouse.db }, app.config.orderRescanDays);
    const state: State = { runId, removals, ...(start && { start }) };
    return { steps: steps.map((step): Step => ({ ...step, removals })), state };
  },
  async next({ config, warehouse: { db } }, _, state, { successes, failures }) {
    const isLost = failures > 0 && successes === 0;
    if (isLost || state.isRemoving || state.start === undefined) return undefined;
    const absent = await countDueOrders(db, state.runId, config.orderDeletes);
    const steps = await planRemovals(db, { ...state, absent, read: await countKnownOrders(db, state.start) });
    if (steps.length === 0) return undefined;
    return {
      steps: steps.map((step): Step => ({ ...step, kind: 'push' })),
      state: { ...state, isRemoving: true as const },
    };
  },
  async complete(app, { start, removals }, run) {
    await pruneMissedOrders(app.warehouse.db, new Date(app.now().getTime() - reasonDays * 86_400_000));
    if (start === undefined) return {};
    return removeAbsentOrders(orderDeps(app, app.abort.signal), run.id, { before: start, removals });
  },
});
