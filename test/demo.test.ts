import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { runProcess } from './harness/cli.ts';
import { temporaryFolder } from './harness/folder.ts';
import { cheapestFolder } from './harness/servers.ts';

type DemoReport = {
  runs: Record<'reviews' | 'orders' | 'again', { outcome: string; counts: Record<string, number> }>;
  answers: { question: string; rows: string[][] }[];
  ends: { what: string; where: string; count: number; keys: string }[];
};

test('the demo ends with the same records at both ends', async () => {
  // Run as root, Postgres is another user.
  const folder = await temporaryFolder(0o755, await cheapestFolder());
  const environment = { TMPDIR: folder, PATH: process.env.PATH ?? '' };
  const { status, stdout } = await runProcess(['demo', '--json', '--orders', '9'], environment);
  expect(status).toBe(0);
  expect((await readdir(folder)).filter((name) => name.startsWith('review-sync-'))).toEqual([]);
  const report: DemoReport = JSON.parse(stdout);
  expect(report.answers.find((answer) => answer.question === 'what is missing')?.rows).toEqual([]);
  const counts = report.ends.map((end) => [`${end.what} at ${end.where}`, end.count]);
  expect(Object.fromEntries(counts)).toMatchObject({ 'reviews at service': 60, 'reviews at warehouse': 60 });
  expect(report.runs.again.counts.orders_pushed ?? 0).toBe(0);
  for (const same of Map.groupBy(report.ends, (end) => end.what).values()) {
    expect(same.map(({ keys }) => keys)).toEqual(same.map(() => same[0]?.keys));
  }
});
