import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runProcess } from './harness/cli.ts';
import { hasMariadb } from './harness/mariadb.ts';
import { isExhaustive } from './harness/sampled.ts';

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
  const { status, stdout } = await runProcess(['demo', '--json', '--orders', '60'], { TMPDIR: folder });
  expect(status).toBe(0);
  const report = JSON.parse(stdout) as DemoReport;
  expect(report.answers.find((answer) => answer.question === 'what is missing')?.rows).toEqual([]);
  expect(countsOf(report)).toMatchObject({ 'reviews at service': 400, 'reviews at warehouse': 400 });
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

/** The folder with every 100th order of the data set and all that belongs to it. With EXHAUSTIVE=1, all 5,000 orders. */
async function someOfOlist(): Promise<string> {
  if (isExhaustive) return olist;
  const folder = await mkdtemp(join(tmpdir(), 'olist-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [, ...orders] = await linesOf(olist, 'olist_orders_dataset');
  const ids = new Set(orders.filter((_, index) => index % 100 === 0).map((line) => line.split(',')[0]));
  const columnOfOrder: Record<string, number> = {
    olist_orders_dataset: 0,
    olist_order_items_dataset: 0,
    olist_order_payments_dataset: 1,
    olist_order_reviews_dataset: 1,
  };
  for (const file of await readdir(olist)) {
    const [head, ...lines] = await linesOf(olist, file.replace('.csv', ''));
    const column = columnOfOrder[file.replace('.csv', '')];
    const kept = column === undefined ? lines : lines.filter((line) => ids.has(line.split(',')[column]));
    await writeFile(join(folder, file), `${[head, ...kept].join('\n')}\n`);
  }
  return folder;
}

/** No value of this data set has a comma or a line break. */
const linesOf = async (folder: string, name: string) =>
  (await readFile(join(folder, `${name}.csv`), 'utf8')).trim().split(/\r?\n/);

test.skipIf(!existsSync(olist))(
  'real orders, sub-orders and reviews of a public data set are counted at both ends',
  async () => {
    const folder = await someOfOlist();
    const rows = async (name: string) => (await linesOf(folder, name)).length - 1;
    const [orders, lines, reviews] = await Promise.all([
      rows('olist_orders_dataset'),
      rows('olist_order_items_dataset'),
      rows('olist_order_reviews_dataset'),
    ]);
    expect(orders).toBe(isExhaustive ? 5000 : 50);
    const { status, stdout } = await runProcess(['demo', '--json', '--data', folder], {});
    expect(status).toBe(0);
    expect(countsOf(JSON.parse(stdout) as DemoReport)).toEqual({
      'orders at shop': orders,
      'orders at service': orders,
      'sub-orders at service': lines,
      'sub-orders at warehouse': lines,
      'reviews at service': reviews,
      'reviews at warehouse': reviews,
    });
  },
  300_000,
);
