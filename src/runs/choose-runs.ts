import type { App } from '../app/app.ts';
import { sameShop } from '../app/require-same-shop.ts';
import { differingSystems, systemsOf } from '../app/run-rights.ts';
import { describeWithHint } from '../base/errors.ts';
import { withTimeout } from '../base/timeout.ts';
import { noteAttended, openRuns, type Run } from '../warehouse/runs/runs.ts';
import type { AnyRunJob } from './job.ts';

/** A run that is not carried out is looked at again after so many milliseconds: its shop may come back. */
const lookAgainMs = 10_000;

/** How long a look waits for the shop, in milliseconds. */
const longestLookMs = 1000;

/** `why`: why this process does not carry the run out; undefined: it does. */
type Decision = { why: string | undefined; untilMs: number };

/**
 * Which open runs this process carries out: those planned for its zone, its service and, if their steps read the shop,
 * its shop. A run that is its own stays so to its end. Any other is left to other processes, which is logged when the
 * reason changes.
 *
 * @returns looks which these are, and notes in the warehouse that this process carries them out.
 */
export function openRunChoice(app: App, jobs: readonly AnyRunJob[]): () => Promise<Run[]> {
  const { db } = app.warehouse;
  const decided = new Map<string, Decision>();
  const deciding = new Map<string, Promise<void>>();

  async function decide(run: Run): Promise<Decision> {
    const definition = jobs.find(({ name }) => name === run.job);
    const why = definition
      ? await whyNotOurs(app, definition, run).catch(describeWithHint)
      : 'this version does not know the job';
    if (why === undefined) return { why, untilMs: Number.POSITIVE_INFINITY };
    if (why !== decided.get(run.id)?.why) app.log.warn({ run: run.id, why }, 'a run is left to other processes');
    return { why, untilMs: performance.now() + lookAgainMs };
  }

  return async () => {
    const open = await openRuns(db);
    for (const id of decided.keys()) if (!open.some((run) => run.id === id)) decided.delete(id);
    for (const run of open) {
      const known = decided.get(run.id);
      if (deciding.has(run.id) || (known && known.untilMs > performance.now())) continue;
      const decision = decide(run).then((one) => {
        decided.set(run.id, one);
        deciding.delete(run.id);
      });
      deciding.set(run.id, decision);
    }
    // A shop that does not respond delays no other run, nor the stop of a run that a person has ended.
    await withTimeout(Promise.all(deciding.values()), longestLookMs, () => new Error('late')).catch(() => {});
    const ours = open.filter(({ id }) => decided.has(id) && decided.get(id)?.why === undefined);
    const ids = ours.map(({ id }) => id);
    await noteAttended(db, ids, app.currentWait());
    return ours;
  };
}

/**
 * Why this process may not carry a run out; undefined: it may. The address of the shop proves nothing by itself: a
 * replica has another one, and a copy may have the same. What counts is that the shop shows the orders that were pushed.
 *
 * @throws the errors of the shop.
 */
async function whyNotOurs(app: App, { readsShop }: AnyRunJob, { systems }: Run): Promise<string | undefined> {
  const differing = differingSystems(systems, systemsOf(app.config));
  const other = differing.find(({ name }) => name !== 'shop');
  if (other || !readsShop) return other?.what;
  const { verdict } = await sameShop({ shop: app.shop, db: app.warehouse.db });
  if (verdict === 'other') return 'SHOP_DATABASE_URL shows none of the orders that were pushed';
  return verdict === 'unknown' ? differing[0]?.what : undefined;
}
