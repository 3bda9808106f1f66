import type { SimulatedDatabase } from './database.ts';
import { createScheduler, stepsADay } from './scheduler.ts';
import { type Nature, simulateWorld, startOf, type WorldEnd } from './world.ts';

export const brandNames = ['nord', 'ost', 'west'];

const without = (names: string): Partial<Nature> => Object.fromEntries(names.split(/\s+/).map((name) => [name, false]));

/** Nothing of this happens in a healthy brand. Its processes die all the same. */
const peaceful: Partial<Nature> = {
  ...without(`lostCreations lateCreations refusals stubborn outages slow brokenStatements endsRuns cursed failingReview
    massRemovals emptied otherSettings vanishing foreign shortTokens retry repair reviewed undated`),
  healthy: true,
  faults: 0,
  emptyValues: 'clear',
};

/**
 * What happens in a brand whose backup is restored. Promises 2 and 7 say what is lost with the days since the backup:
 * which orders a backfill has pushed, and which sub-orders a line that is gone has left. If an order goes back to what
 * it was at the backup, it counts as unchanged (docs/operating.md). If an order was made since and is deleted, it
 * counts as never pushed.
 */
const restored =
  without(`backfill backfillFirst imported otherSettings repair retry removals massRemovals emptied lineCodes
  vanishing undated returns deletions`);
type Backup = { atMs: number; restore: () => Promise<boolean> };
/** The backup is made at the end of one storm, and restored in the middle of a later one. */
const [backUpAfter, restoreIn] = [1, 4];

/**
 * Three brands on one warehouse. Their orders, products and reviews have the same codes and ids. The first is healthy.
 * While it storms, the service of the second is dead and the queries of the third are broken. In a long world, one of
 * them is restored from a backup while the others go on. The oracle judges each by itself.
 */
export async function simulateBrands(
  seed: number,
  database: SimulatedDatabase,
  warehouseUrl: string,
  given: Partial<Nature>,
  days: number,
): Promise<WorldEnd> {
  await database.reset();
  const scheduler = createScheduler(seed, startOf(seed), stepsADay * brandNames.length * Math.max(1, days));
  let arrived = 0;
  const unlucky = brandNames[seed % brandNames.length] as string;
  let backup: Promise<Backup> | undefined;
  const among = {
    scheduler,
    async meet(what: string): Promise<void> {
      arrived += 1;
      const all = Math.ceil(arrived / brandNames.length) * brandNames.length;
      await scheduler.until(() => arrived >= all, { withinMs: 100 * 3_600_000, what });
      if (all === (backUpAfter + 1) * brandNames.length) backup ??= scheduler.alone(backUp);
      await backup;
    },
  };
  const backUp = async (): Promise<Backup> => ({ atMs: scheduler.now(), restore: await database.backUp(unlucky) });
  /** Tries again while a transaction holds a lock. */
  async function restore(disown: (sinceMs: number) => void): Promise<void> {
    if (!backup) return;
    const { atMs, restore: tryTo } = await backup;
    if (!(await tryTo())) return void scheduler.add(50, () => restore(disown), null);
    disown(atMs);
    scheduler.tell(`brand ${unlucky} is restored from a backup`, undefined);
  }
  const own: Partial<Nature>[] = [peaceful, { deadService: true }, { brokenQuery: true }];
  const together: Partial<Nature> = {
    clockErrors: false,
    freezes: false,
    hourly: false,
    episodes: seed % 2 === 0 ? 1 : 2,
    kills: seed % 3 > 0,
  };
  const natureOf = (brand: string, at: number) => ({
    ...together,
    ...own[at],
    ...(brand === unlucky && days > restoreIn && restored),
  });
  const ends = await Promise.all(
    brandNames.map((brand, at) =>
      simulateWorld(seed, database, warehouseUrl, { ...natureOf(brand, at), ...given }, days, {
        ...among,
        brand,
        onStorm(storm, lengthMs, disown) {
          if (brand === unlucky && storm === restoreIn)
            scheduler.add((lengthMs * (1 + (seed % 7))) / 8, () => restore(disown), null);
        },
      }),
    ),
  );
  const findings = ends.flatMap((end, at) => end.findings.map((text) => `brand ${brandNames[at]}: ${text}`));
  const nature = ends.map((end, at) => `${brandNames[at]}: ${end.nature}`).join('\n');
  return { ...(ends[0] as WorldEnd), findings, nature, steps: scheduler.steps(), story: scheduler.story };
}
