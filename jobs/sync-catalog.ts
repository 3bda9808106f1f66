import { orderDeps } from '../src/app/deps.ts';
import { addCounts } from '../src/base/counts.ts';
import { learnFromOrders, syncCategories, syncUserGrades } from '../src/orders/catalog/sync-catalog.ts';
import { defineRun, type StepJob } from '../src/runs/define-run.ts';

/** Step: all categories and member grades, few enough in any shop for one step, and products that lines wait for. */
const pushCatalog: StepJob<Record<string, never>> = {
  name: 'push-catalog',
  parse: () => ({}),
  async run(app, _payload, { signal }) {
    const deps = orderDeps(app, signal);
    const learned = await learnFromOrders(app, signal);
    return addCounts([await syncCategories(deps), await syncUserGrades(deps), learned]);
  },
};

/** Scheduled: categories and member grades. */
export const syncCatalog = defineRun({
  name: 'sync-catalog',
  schedule: 'catalog',
  step: pushCatalog,
  trigger: 'sync',
  priority: 1,
  readsShop: true,
  deadLetters: ['category', 'user_grade'],
  plan: async () => ({ steps: [{}], state: {} }),
  complete: async () => ({ counts: {} }),
});
