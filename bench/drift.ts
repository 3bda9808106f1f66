/**
 * What counting the fields of 100,000 reviews costs an export at 0 ms (bi.field_drift): processor seconds of our
 * process, the median of exports with and without it, by turns.
 *
 *   npm run bench:drift
 */
import { median, openReviewStage, runExport, say } from './stage.ts';

await using opened = new AsyncDisposableStack();
const stage = await openReviewStage(opened);
const [counting, without]: [number[], number[]] = [[], []];

async function exportAll(times: number[]): Promise<void> {
  await stage.hold({ count: 100_000, stepSeconds: 600, latencyMs: 0 });
  const leftOut = times === without ? { BENCH_WITHOUT_DRIFT: '1' } : {};
  const environment = stage.environmentOf(await stage.newWarehouse());
  times.push((await runExport({ ...environment, ...leftOut })).cpuSeconds);
}

for (let turn = 0; turn < 7; turn += 1)
  for (const times of turn % 2 ? [counting, without] : [without, counting]) await exportAll(times);
const more = median(counting) - median(without);
const share = ((100 * more) / median(without)).toFixed(1);
say(`counting fields: ${more.toFixed(2)} s of ${median(without).toFixed(2)} s, ${share} %`);
