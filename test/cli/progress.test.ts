import { expect, test, vi } from 'vitest';
import { openProgress } from '../../src/cli/ui/progress.ts';
import { drawRun } from '../../src/cli/with-app.ts';
import type { RunProgress } from '../../src/queue/index.ts';
import { type Following, followRun } from '../../src/runs/run-to-end.ts';
import { beginRun, finishRun } from '../../src/warehouse/runs/runs.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';
import { runOf } from '../harness/world.ts';

function openLines(isTerminal = false) {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const add = (line: string) => lines.push(line);
  const terminal = { isTerminal, say: add, draw: add };
  return { lines, clock, progress: openProgress(terminal, 'sync orders', 'orders', () => clock.ms) };
}

/** Until the end of the test, `performance.now()` goes on by `vi.advanceTimersByTime` only. */
function fakeClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] });
}

test('of many waits one a minute is said, and one that is much longer at once', () => {
  const { lines, clock, progress } = openLines();
  const wait = (ms: number, waitsMs = 9000) => {
    clock.ms = ms;
    progress.wait({ reason: `GET ${ms}`, untilMs: ms + waitsMs });
  };
  for (const ms of [0, 1000]) wait(ms);
  wait(2000, 3_600_000);
  for (const ms of [3_600_000, 3_662_000]) wait(ms);
  const said = ['00:00:09 UTC: GET 0', '01:00:02 UTC: GET 2000', '01:01:11 UTC: GET 3662000'];
  expect(lines).toEqual(said.map((one) => `waiting until ${one}`));
});

test('a terminal shows each wait until its end, though only one a minute has a line', () => {
  const { lines, clock, progress } = openLines(true);
  for (const [ms, waitsMs] of [
    [0, 500],
    [1000, 4000],
    [2000, 1000],
    [5000, 0],
  ] as const) {
    clock.ms = ms;
    if (waitsMs > 0) progress.wait({ reason: `GET ${ms}`, untilMs: ms + waitsMs });
    progress.update(0, undefined);
  }
  const planning = (seconds: number, wait: string) => `sync orders: planning · ${seconds} s${wait}`;
  expect(lines).toEqual([
    'waiting until 00:00:00 UTC: GET 0',
    planning(0, ' · waiting until 00:00:00 UTC: GET 0'),
    planning(1, ' · waiting until 00:00:05 UTC: GET 1000'),
    planning(2, ' · waiting until 00:00:05 UTC: GET 1000'),
    planning(5, ''),
  ]);
});

test('a line is written every two seconds if it says something new, and at the end', () => {
  const { lines, clock, progress } = openLines();
  for (const [ms, done, total, note] of [
    [2000, 0, undefined],
    [3999, 1, 4, '5 reviews'],
    [4000, 1, 4, '5 reviews'],
    [9000, 1, 4, '5 reviews'],
    [9001, 2, 4],
    [9002, 4, 4],
  ] as const) {
    clock.ms = ms;
    progress.update(done, total, note);
  }
  expect(lines).toEqual([
    'sync orders: planning · 2 s',
    'sync orders: 1/4 orders · 5 reviews · 4 s, 15/min, 12 s left',
    'sync orders: 2/4 orders · 9 s, 13/min, 9 s left',
    'sync orders: 4/4 orders · 9 s, 27/min',
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

const { warehouse } = await openTestWarehouse();

const end = (id: string) => finishRun(warehouse.db, id, { outcome: 'done' });
let runs = 0;

/** Follows a run about which the queue says this, until it has said all. The row of the run ends as its job does. */
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
const after = (ms: number, look: () => RunProgress) => () => {
  vi.advanceTimersByTime(ms);
  return look();
};

test('a command ends with a sentence if its run is lost, or the queue stays away', async () => {
  const lost = { state: 'lost', planned: undefined, ended: 0 } as const;
  await expect(followed([() => lost])).rejects.toMatchObject({
    message: 'the run is no longer in the queue',
    hint: expect.stringMatching(/correct QUEUE_URL .* review-sync runs end run \d+,/),
  });
  const signal = AbortSignal.abort();
  await expect(followed([() => running], { signal })).rejects.toThrow('Interrupted. Finished work is kept.');
  await expect(followed([gone], { signal })).rejects.toThrow('Interrupted. Finished work is kept.');
  fakeClock();
  const looks = [after(120_000, gone), after(1, gone), () => ended];
  await expect(followed(looks)).rejects.toThrow('gone');
  expect(looks).toHaveLength(1);
  // A note that cannot be read does not count.
  const notes: unknown[] = [];
  const onProgress: Following['onProgress'] = (_n, _of, note) => void notes.push(note);
  expect(await followed([() => ended], { onProgress, note: async () => gone() })).toEqual(report);
  // What the run has brought at its end is asked for then.
  const note = async () => `note ${notes.length}`;
  expect(await followed([() => running, () => running, () => ended], { onProgress, note })).toEqual(report);
  expect(notes).toEqual(['', 'note 1', 'note 1', 'note 3']);
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
  const waits: string[] = [];
  const looks = [after(100_000, () => running), after(100_000, gone), after(100_000, () => ended)];
  expect(await followed(looks, { onRetry: (reason) => void waits.push(reason) })).toEqual(report);
  expect(waits).toHaveLength(1);
});
