import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { drawRun } from '../../src/cli/ui/draw-run.ts';
import { openProgress } from '../../src/cli/ui/progress.ts';
import type { RunProgress } from '../../src/queue/index.ts';
import { type Following, followRun } from '../../src/runs/run-to-end.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { beginRun, finishRun } from '../../src/warehouse/runs/runs.ts';
import { createWarehouse } from '../harness/warehouse.ts';
import { runOf } from '../harness/world.ts';

function openLines() {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const terminal = { isTerminal: false, say: (line: string) => lines.push(line), draw() {} };
  return { lines, clock, progress: openProgress(terminal, 'sync orders', 'orders', () => clock.ms) };
}

/** Until the end of the test, `performance.now()` goes on by `vi.advanceTimersByTime` only. */
function fakeClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

test('a wait is said once until there is progress, or a much longer wait', () => {
  const { lines, clock, progress } = openLines();
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    clock.ms += 10_000;
    progress.wait('POST /v1/orders: status 503', clock.ms + 9000);
  }
  expect(lines).toEqual(['waiting until 00:00:19 UTC: POST /v1/orders: status 503']);
  progress.update(1, 3);
  clock.ms += 10_000;
  progress.wait('POST /v1/orders: status 503', clock.ms + 9000);
  expect(lines).toHaveLength(3);

  const many = openLines();
  for (let order = 1; order <= 100; order += 1) many.progress.wait(`order ${order}: status 503`, 1000 + order);
  many.progress.wait('the review service asked for fewer requests', 300_000);
  expect(many.lines).toEqual([
    'waiting until 00:00:01 UTC: order 1: status 503',
    'waiting until 00:05:00 UTC: the review service asked for fewer requests',
  ]);
});

test('a rate is a whole number, a minute where less than one a second is done', () => {
  const { lines, clock, progress } = openLines();
  for (const [ms, done, total, note] of [
    [10_000, 1834, 4000],
    [20_000, 1836, 4000],
    [60_000, 22, 40],
    // Without a known total, and where nothing is planned.
    [70_000, 210, undefined, '3 differ'],
    [80_000, 0, 0],
  ] as const) {
    clock.ms = ms;
    progress.update(done, total, note);
  }
  expect(lines).toEqual([
    'sync orders: 1834/4000 orders · 10 s, 183/s, 12 s left',
    'sync orders: 1836/4000 orders · 20 s, 92/s, 24 s left',
    'sync orders: 22/40 orders · 1 min, 22/min, 49 s left',
    'sync orders: 210 orders · 3 differ · 1 min 10 s, 3/s',
  ]);
});

test('a line is written every two seconds if it says something new, and at the end', () => {
  const { lines, clock, progress } = openLines();
  const at = (ms: number, ...update: Parameters<typeof progress.update>) => {
    clock.ms = ms;
    progress.update(...update);
  };
  at(2000, 0, undefined);
  at(3999, 1, 4, '5 reviews');
  at(4000, 1, 4, '5 reviews');
  at(9000, 1, 4, '5 reviews');
  at(9001, 2, 4);
  at(9002, 4, 4);
  expect(lines).toEqual([
    'sync orders: planning · 2 s',
    'sync orders: 1/4 orders · 5 reviews · 4 s, 15/min, 12 s left',
    'sync orders: 2/4 orders · 9 s, 13/min, 9 s left',
    'sync orders: 4/4 orders · 9 s, 27/min',
  ]);
});

test('on a terminal one line with a bar is drawn again and again, and shows a wait', () => {
  const shown: string[] = [];
  const clock = { ms: 0 };
  const terminal = {
    isTerminal: true,
    say: (line: string) => shown.push(`${line}\n`),
    draw: (line: string) => shown.push(line),
  };
  const progress = openProgress(terminal, 'sync', 'orders', () => clock.ms);
  progress.update(0, undefined);
  clock.ms = 3_600_000;
  progress.update(0, 100);
  progress.wait('status 503');
  progress.update(90, 100, '5 reviews');
  progress.update(100, 100);
  progress.stop();
  progress.stop();
  const bar = (filled: number) => '█'.repeat(filled) + '░'.repeat(30 - filled);
  expect(shown.splice(0)).toEqual([
    'sync: planning · 0 s',
    `sync: ${bar(0)} 0/100 orders · 1 h`,
    'waiting: status 503\n',
    `sync: ${bar(27)} 90/100 orders · 5 reviews · 1 h, 2/min, 6 min 40 s left`,
    `sync: ${bar(30)} 100/100 orders · 1 h, 2/min`,
    '\n',
  ]);
  const waits = openProgress(terminal, 'sync', 'windows', () => clock.ms);
  waits.wait('status 503', clock.ms + 30_000);
  for (const ms of [29_000, 2000]) {
    clock.ms += ms;
    waits.update(0, undefined);
  }
  expect(shown.slice(1)).toEqual([
    'sync: planning · 29 s · waiting until 01:00:30 UTC: status 503',
    'sync: planning · 31 s',
  ]);
});

test('a run is drawn with what it did, or why it is not done', () => {
  const text = (report: Parameters<typeof drawRun>[1]) => {
    const drawn = drawRun('sync', report);
    expect(drawn).toMatchObject({ json: report, incomplete: report.outcome !== 'done' });
    return drawn.text;
  };
  expect(text({ outcome: 'done', counts: {} })).toBe('sync: done. Nothing to do.');
  expect(text({ outcome: 'done', counts: { inserted: 1200 } })).toBe('sync: done. 1,200 inserted');
  const reason = 'problem' as const;
  expect(text({ outcome: 'incomplete', counts: {}, reason, error: 'why' })).toBe('sync: incomplete.\nwhy');
});

let warehouse: Warehouse;
afterAll(() => warehouse.close());
beforeAll(async () => {
  const { url } = await createWarehouse();
  warehouse = await openWarehouse({ url, connections: 1 });
});

const end = (id: string) => finishRun(warehouse.db, id, { finishedAt: new Date(), outcome: 'done' });
let runs = 0;

/** Follows a run of which the queue says this, until it has said all. The row of the run ends as its job does. */
async function followed(looks: (() => RunProgress)[], more: Partial<Following> = {}) {
  const id = `run ${++runs}`;
  await beginRun(warehouse.db, runOf(id));
  const progress = async () => {
    const at = (looks.shift() as () => RunProgress)();
    if (at.state === 'ended') await end(id);
    return at;
  };
  const following = { onProgress() {}, onRetry() {}, signal: new AbortController().signal, ...more };
  return await followRun({ warehouse, queues: { progress } as never }, id, following);
}
const ended = { state: 'ended', planned: 2, ended: 2 } as const;
const running: RunProgress = { state: 'running', planned: 2, ended: 1 };
const report = { outcome: 'done', counts: {} };
const gone = () => {
  throw new Error('gone');
};

test('a command ends with a sentence if its run is lost, or the queue stays away', async () => {
  const lost = { state: 'lost', planned: undefined, ended: 0 } as const;
  await expect(followed([() => lost])).rejects.toThrow('the run is no longer in the queue');
  const signal = AbortSignal.abort();
  await expect(followed([() => running], { signal })).rejects.toThrow('Interrupted. Finished work is kept.');
  await expect(followed([gone], { signal })).rejects.toThrow('Interrupted. Finished work is kept.');
  fakeClock();
  const later = (ms: number) => () => {
    vi.advanceTimersByTime(ms);
    return gone();
  };
  const looks = [later(120_000), later(1), () => ended];
  await expect(followed(looks)).rejects.toThrow('gone');
  expect(looks).toHaveLength(1);
  // A note that cannot be read does not count.
  const notes: unknown[] = [];
  const onProgress: Following['onProgress'] = (_n, _of, note) => void notes.push(note);
  expect(await followed([() => ended], { onProgress, note: async () => gone() })).toEqual(report);
  expect(notes).toEqual(['']);
});

test('a command ends with the row of its run, though a dead process has its job', async () => {
  fakeClock();
  await beginRun(warehouse.db, runOf('held'));
  const progress = async (): Promise<RunProgress> => {
    vi.advanceTimersByTime(1000);
    await end('held');
    return running;
  };
  const following = { onProgress() {}, onRetry() {}, signal: new AbortController().signal };
  expect(await followRun({ warehouse, queues: { progress } as never }, 'held', following)).toEqual(report);
});

test('a queue that does not respond for a moment is waited for', async () => {
  fakeClock();
  const later = (look: () => RunProgress) => () => {
    vi.advanceTimersByTime(100_000);
    return look();
  };
  const waits: string[] = [];
  const looks = [later(() => running), later(gone), later(() => ended)];
  expect(await followed(looks, { onRetry: (reason) => void waits.push(reason) })).toEqual(report);
  expect(waits).toHaveLength(1);
});
