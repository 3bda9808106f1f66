import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runProcess } from './harness/cli.ts';
import { hasMariadb } from './harness/mariadb.ts';

type DemoReport = {
  runs: Record<'reviews' | 'orders' | 'again', { outcome: string; counts: Record<string, number> }>;
  answers: { question: string; rows: string[][] }[];
  ends: { what: string; where: string; count: number; keys: string }[];
};

const olist = join(import.meta.dirname, '..', '..', 'shared', 'data', 'olist');
const countsOf = ({ ends }: DemoReport) =>
  Object.fromEntries(ends.map((end) => [`${end.what} at ${end.where}`, end.count]));

test('the demo ends with the same records at both ends, nothing missing and nothing left behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  // Run as root, Postgres is another user.
  await chmod(folder, 0o755);
  const { status, stdout } = await runProcess(['demo', '--json', '--orders', '300'], { TMPDIR: folder });
  expect(status).toBe(0);
  const report = JSON.parse(stdout) as DemoReport;
  expect(report.answers.find((answer) => answer.question === 'what is missing')?.rows).toEqual([]);
  expect(countsOf(report)).toMatchObject({ 'reviews at service': 2000, 'reviews at warehouse': 2000 });
  expect(report.runs.again.counts.orders_pushed ?? 0).toBe(0);
  for (const same of Map.groupBy(report.ends, (end) => end.what).values()) {
    expect(new Set(same.map((end) => end.keys)).size).toBe(1);
  }
  expect((await readdir(folder)).filter((name) => name.startsWith('review-sync-'))).toEqual([]);
}, 300_000);

test.skipIf(!hasMariadb)(
  'the demo ends with the same records at both ends where its shop is in MariaDB',
  async () => {
    const { status, stdout } = await runProcess(['demo', '--json', '--orders', '60', '--shop', 'mariadb'], {
      PATH: process.env.PATH ?? '',
    });
    expect(status).toBe(0);
    const report = JSON.parse(stdout) as DemoReport;
    expect(report.answers.find((answer) => answer.question === 'what is missing')?.rows).toEqual([]);
    expect(countsOf(report)).toMatchObject({ 'reviews at service': 400, 'reviews at warehouse': 400 });
    expect(report.runs.again.counts.orders_pushed ?? 0).toBe(0);
    for (const same of Map.groupBy(report.ends, (end) => end.what).values()) {
      expect(new Set(same.map((end) => end.keys)).size).toBe(1);
    }
  },
  300_000,
);

test.skipIf(!existsSync(olist))(
  '5,000 real orders, 5,603 sub-orders and 4,988 reviews are counted at both ends',
  async () => {
    const { status, stdout } = await runProcess(['demo', '--json', '--data', olist], {});
    expect(status).toBe(0);
    expect(countsOf(JSON.parse(stdout) as DemoReport)).toEqual({
      'orders at shop': 5000,
      'orders at service': 5000,
      'sub-orders at service': 5603,
      'sub-orders at warehouse': 5603,
      'reviews at service': 4988,
      'reviews at warehouse': 4988,
    });
  },
  300_000,
);
