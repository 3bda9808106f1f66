import type pg from 'pg';
import { expect, test, vi } from 'vitest';
import { jobs } from '../../jobs/index.ts';
import { checkSchedules } from '../../src/app/doctor/index.ts';
import { openLog } from '../../src/base/log.ts';
import { nextRun } from '../../src/queue/next-run.ts';
import {
  applySchedules,
  isTooFarAhead,
  plannedRuns,
  type Schedule,
  schedulesOf,
  watchSchedules,
} from '../../src/queue/schedules.ts';
import { onEachQueue, openTestQueues } from '../harness/queues.ts';
import { hasRedis } from '../harness/servers.ts';

const minute = 60_000;
const backoff = { type: 'exponential', delay: 1000 };
const at = (pattern: string, job = 'sync-orders', timeZone = 'Asia/Seoul'): Schedule => ({ job, pattern, timeZone });
const [orders, reviews] = [at('*/5 * * * *'), at('*/5 * * * *', 'sync-reviews')];
const [others, otherZone] = [at('*/7 * * * *'), at('*/5 * * * *', 'sync-orders', 'UTC')];

/**
 * What was in the queue, by a clock that is so far ahead; what a process has of its own; what the process makes of it.
 */
const rows: [what: string, held: Schedule[], aheadMs: number, own: Schedule[], started: string, watched: string][] = [
  ['the queue has lost all', [], 0, [orders, reviews], 'own', 'own'],
  ['both have the same', [orders], 0, [orders], 'held', 'held'],
  ['the pattern is another', [orders], 0, [others], 'own', 'held'],
  ['the zone is another', [orders], 0, [otherZone], 'own', 'held'],
  ['the job is another', [orders], 0, [reviews], 'own', 'held'],
  ['the process has more', [orders], 0, [orders, reviews], 'own', 'held'],
  ['the process has fewer', [orders, reviews], 0, [orders], 'own', 'held'],
  ['the process has none', [orders], 0, [], 'own', 'held'],
  ['a clock was ahead', [orders], 1440 * minute, [orders], 'own, again', 'held, again'],
  ['a clock was ahead, and the pattern is another', [orders], 1440 * minute, [others], 'own, again', 'held, again'],
  ['a clock was ahead, and the process has none', [orders], 1440 * minute, [], 'own', 'held'],
  ['a run fell due while no worker was there', [orders], -60 * minute, [orders], 'held', 'held'],
  ['such a run, and the zone is another', [orders], -60 * minute, [otherZone], 'own, again', 'held'],
  ['such a run, and the pattern is another', [orders], -60 * minute, [others], 'own, again', 'held'],
];

onEachQueue(({ redisUrl }) => {
  test('a brand leaves the schedules of others as they are, and its own run that is due', async () => {
    const { queues } = await openTestQueues(redisUrl());
    const of = (prefix: string) => ({ ...queues, prefix });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60 * minute });
    for (const prefix of ['nord/', 'nord_2/']) await applySchedules(of(prefix), [orders]);
    vi.useRealTimers();
    const before = await plannedRuns(of('nord/'));
    await applySchedules(of('nord_2/'), []);
    // Its own run fell due while no worker was there.
    await applySchedules(of('nord/'), [orders]);
    expect(await plannedRuns(of('nord/'))).toEqual(before);
    expect(before).toMatchObject([orders]);
    expect(await plannedRuns(of('nord_2/'))).toEqual([]);
  });

  test('a deadlock with another worker is tried again', async () => {
    const { queues } = await openTestQueues(redisUrl());
    const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });
    vi.spyOn(queues.scheduled, 'upsertJobScheduler').mockRejectedValueOnce(deadlock);
    await applySchedules(queues, [orders]);
    expect(await plannedRuns(queues)).toMatchObject([orders]);
  });

  test('a start sets the own schedules, the watch only those lost or too far ahead', async () => {
    const { queues } = await openTestQueues(redisUrl());
    const log = openLog('silent');
    const planned = async () => (await plannedRuns(queues)).sort((a, b) => a.job.localeCompare(b.job));
    // A row decides the same on both queues, and costs a tenth on Redis. So Postgres shows only one row of each kind.
    const areAll = hasRedis === (redisUrl() !== undefined);
    const some = areAll ? rows : rows.filter((_, at) => at === 0 || at === 9);
    for (const [what, held, aheadMs, own, started, watched] of some) {
      for (const [how, expected] of Object.entries({ started, watched })) {
        for (const { job } of await plannedRuns(queues)) await queues.scheduled.removeJobScheduler(job);
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs });
        await applySchedules(queues, held);
        vi.useRealTimers();
        const before = await planned();
        if (how === 'started') await applySchedules(queues, own);
        // Schedules that are set again when the worker stops are set before its queue is closed.
        else await watchSchedules({ queues, log }, own, 3_600_000).close();
        const after = await planned();
        const [of, again] = expected.split(', ');
        expect([what, how, after]).toMatchObject([what, how, of === 'own' ? own : held]);
        if (of === 'held' && !again) expect([what, how, after]).toEqual([what, how, before]);
        const isNear = after.every(({ next }) => Math.abs((next?.getTime() ?? 0) - Date.now()) <= 8 * minute);
        if (again) expect([what, how, isNear]).toEqual([what, how, true]);
        expect([what, how, await queues.scheduled.getDelayed()]).toMatchObject([
          what,
          how,
          // A job of a moment that comes twice would stop the schedule. A broken connection is tried again for an hour.
          after.map(() => ({ opts: { attempts: 13, backoff, removeOnComplete: true, removeOnFail: true } })),
        ]);
      }
    }
  });
});

test.each(['start', 'watch'])('a schedule whose due run the queue has lost is set again by the %s', async (how) => {
  const { queues } = await openTestQueues();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60 * minute });
  await applySchedules(queues, [orders]).finally(() => vi.useRealTimers());
  await (queues.classes.connection as pg.Pool).query('delete from bullmq.job');
  if (how === 'start') await applySchedules(queues, [orders]);
  else await watchSchedules({ queues, log: openLog('silent') }, [orders], 3_600_000).close();
  expect((await plannedRuns(queues))[0]?.next?.getTime()).toBeGreaterThan(Date.now());
});

/**
 * Clocks go back by half an hour at 15:00 UTC on Lord Howe, by an hour at 14:00 on the Chatham Islands, on 2026-04-04.
 */
const goBack: [pattern: string, timeZone: string, after: string, next: string][] = [
  ['0 * * * *', 'Australia/Lord_Howe', '14:00', '15:00'],
  ['0 * * * *', 'Australia/Lord_Howe', '14:10', '15:00'],
  ['0 * * * *', 'Australia/Lord_Howe', '15:00', '15:30'],
  ['0 2 * * *', 'Australia/Lord_Howe', '13:00', '15:00'],
  ['*/5 * * * *', 'Pacific/Chatham', '13:10', '13:15'],
  ['0 * * * *', 'Pacific/Chatham', '13:00', '13:15'],
  ['45 * * * *', 'Pacific/Chatham', '13:00', '14:00'],
  ['0 * * * *', 'Europe/Berlin', '13:00', '14:00'],
];
const thatDay = (time: string) => Date.parse(`2026-04-04T${time}:00Z`);

test.each(goBack)('%s in %s is due after %s at %s', (pattern, timeZone, after, next) => {
  expect(nextRun({ pattern, timeZone }, thatDay(after))).toEqual(new Date(thatDay(next)));
});

test('a queue computes the next run by the offset of the zone', async () => {
  const { queues } = await openTestQueues();
  vi.useFakeTimers({ toFake: ['Date'], now: thatDay('14:01') });
  await applySchedules(queues, [at('0 2 * * *', 'sync-orders', 'Australia/Lord_Howe')]);
  vi.useRealTimers();
  expect(await plannedRuns(queues)).toMatchObject([{ next: new Date(thatDay('15:00')) }]);
});

test('a queue that hangs when the schedules are set is an error after five seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const hangs = { prefix: '', schedulers: () => new Promise<never>(() => {}) } as never;
  const set = expect(applySchedules(hangs, [])).rejects.toThrow('did not respond within 5 seconds');
  await vi.advanceTimersByTimeAsync(5000);
  await set;
});

test('a next run is too far ahead if it is later than the first one an hour from now', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const isAhead = (next: string, pattern = '*/5 * * * *', timeZone = 'Asia/Seoul') =>
    isTooFarAhead({ ...at(pattern, 'sync-orders', timeZone), next: new Date(next) }, now);
  expect([isAhead('2026-03-01T13:05:00Z'), isAhead('2026-03-01T13:05:00.001Z')]).toEqual([false, true]);
  // Midnight of the zone.
  const ofDays = (timeZone: string) => isAhead('2026-03-02T00:00:00Z', '0 0 * * *', timeZone);
  expect([ofDays('UTC'), ofDays('Asia/Seoul')]).toEqual([false, true]);
});

test('doctor calls a run overdue after a minute, and names schedules that differ', async () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const look = (lateMs: number | undefined, tz = orders.timeZone, wanted: readonly Schedule[] = [orders]) => {
    const next = lateMs === undefined ? undefined : now.getTime() - lateMs;
    const one = { key: orders.job, name: orders.job, pattern: orders.pattern, tz, next };
    const queues = { prefix: '', schedulers: async () => (tz === '' ? [] : [one]) };
    return checkSchedules(queues as never, wanted, now);
  };
  const fault = (what: string) => [{ level: 'fault', what: expect.stringContaining(what) }];
  expect(await look(minute)).toMatchObject([{ level: 'ok' }]);
  expect(await look(minute + 1)).toMatchObject(
    fault('sync-orders was due at 2026-03-01T11:58:59.999Z, and no worker took it'),
  );
  expect(await look(0)).toMatchObject([{ level: 'ok', what: 'sync-orders runs next at 2026-03-01T12:00:00.000Z' }]);
  const [differing, ok] = await look(0, 'UTC');
  expect([differing?.what, ok?.level]).toEqual([
    'other schedules are in the queue (sync-orders (*/5 * * * * in UTC)) than are configured (sync-orders (*/5 * * * * in Asia/Seoul))',
    'ok',
  ]);
  expect(await look(undefined)).toMatchObject(fault('sync-orders has no next run'));
  expect(await look(0, '', [])).toMatchObject([{ level: 'warning', what: 'no schedule is configured' }]);
});

test('each schedule starts its jobs; regular runs go first, then backfills', () => {
  const patterns = { catalog: 'C', orders: 'O', reviews: '', reconcile: 'R' };
  const scheduled = schedulesOf(jobs, { schedules: patterns, scheduleTimeZone: 'Asia/Seoul' });
  expect(scheduled.map(({ job, pattern, timeZone }) => `${job} ${pattern} ${timeZone}`)).toEqual(
    ['sync-catalog C', 'sync-orders O', 'reconcile-reviews R', 'rescan-orders R'].map((one) => `${one} Asia/Seoul`),
  );
  const withPriority = (wanted: number) => jobs.filter(({ priority }) => priority === wanted).map(({ name }) => name);
  expect(withPriority(1)).toEqual(['sync-catalog', 'sync-orders', 'sync-reviews']);
  expect(withPriority(10)).toEqual(['backfill-orders', 'backfill-reviews']);
  expect(withPriority(20)).toEqual(['reconcile-reviews', 'rescan-orders']);
});
