import { expect, test, vi } from 'vitest';
import { takersOfBrands, withRedis } from '../../src/queue/connection.ts';
import { openQueueServer, openQueues, type Queues } from '../../src/queue/index.ts';
import { applySchedules } from '../../src/queue/schedules.ts';
import { openRunSeats, openStepSlots } from '../../src/runs/step-slots.ts';
import { until } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { openTestDueTaker, redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';

const never = () => new Promise<never>(() => {});

test('a free slot goes to the waiting step of the lowest number', async () => {
  const slots = openStepSlots(1);
  const end = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = slots(10, () => end.promise);
  const others = [
    [20, 'reconcile'],
    [10, 'backfill'],
    [1, 'sync'],
    [10, 'later backfill'],
    [1, 'later sync'],
    [20, 'rescan'],
  ] as const;
  const steps = others.map(([priority, name]) => slots(priority, async () => void order.push(name)));
  end.resolve();
  await Promise.all([first, ...steps]);
  expect(order).toEqual(['sync', 'later sync', 'backfill', 'later backfill', 'reconcile', 'rescan']);
});

test('backfills and a brand with many runs leave half of the seats to regular runs', () => {
  const seats = openRunSeats(8);
  const takes = (times: number, own: number, isLive: boolean) =>
    Array.from({ length: times }, () => seats.take(own, isLive)).filter(Boolean).length;
  expect(takes(8, 0, false)).toBe(4);
  expect(takes(8, 2, true)).toBe(0);
  expect(takes(8, 0, true)).toBe(4);
  seats.leave();
  expect(seats.take(0, false)).toBe(false);
  expect(seats.take(1, true)).toBe(true);
});

type Handler = (job: object, token: string) => Promise<void>;

/** A taker of due runs with the queues of brand `a`, and what its workers do with a job. */
function takerOnPaper(schedules: Readonly<Record<string, string>> = {}) {
  const handlers: Handler[] = [];
  class Worker {
    maximumBlockTimeout = 10;
    constructor(_queue: string, handler: Handler) {
      handlers.push(handler);
    }
    on() {}
    async moveToActive() {}
    async waitUntilReady() {
      if (handlers.length === 1) throw new Error('the queue is down');
    }
    async run() {}
    async close() {}
  }
  const getJobScheduler = async (name: string) => schedules[name] && { pattern: schedules[name], tz: 'UTC' };
  const queues = {
    prefix: 'a/',
    scheduled: { name: 'due', getJobScheduler },
    classes: { Worker },
  } as unknown as Queues;
  return { due: openTestDueTaker(), queues, handle: (job: object) => handlers.at(-1)?.(job, '') };
}

test('due runs are taken after a queue that did not open, and a start that failed', async () => {
  const { due, queues, handle } = takerOnPaper();
  const started: string[] = [];
  const start = async (job: string, dueId: string) => {
    started.push(`${job} ${dueId}`);
    if (dueId === '1') throw new Error('the warehouse is down');
  };
  await expect(due.take(queues, start)).rejects.toThrow('the queue is down');
  await due.take(queues, start);
  await expect(handle({ name: 'a/sync-orders', id: '1' })).rejects.toThrow('the warehouse is down');
  await handle({ name: 'a/sync-orders', id: '2' });
  expect(started).toEqual(['sync-orders 1', 'sync-orders 2']);
});

/** When the run was due, its pattern now, and for how many seconds it is left to others; undefined: it is dropped. */
test.each([
  ['12:00:00Z', '* * * * *', 30],
  ['11:59:00Z', '* * * * *', undefined],
  ['11:50:00Z', '0 4 * * *', 60],
  ['12:00:00Z', '', undefined],
])('a run of %s of a brand that is served elsewhere, with pattern "%s"', async (time, pattern, left) => {
  const now = Date.parse('2026-03-01T12:00:30Z');
  vi.spyOn(Date, 'now').mockReturnValue(now);
  const { due, queues, handle } = takerOnPaper({ 'b/sync-orders': pattern });
  await due.take(queues, never).catch(() => {});
  await due.take(queues, never);
  const given: number[] = [];
  const moveToDelayed = async (at: number) => void given.push((at - now) / 1000);
  const opts = { prevMillis: Date.parse(`2026-03-01T${time}`) };
  await Promise.allSettled([handle({ name: 'b/sync-orders', id: '1', opts, moveToDelayed })]);
  expect(given).toEqual(left === undefined ? [] : [left]);
});

/** @param connections how many wait for due runs on this server. */
async function expectDueRuns(url: string, connections: () => Promise<number>): Promise<void> {
  await using server = await openQueueServer(url, takersOfBrands);
  const names = ['a', 'a_b', 'b'];
  const queues = await Promise.all(
    names.map((brand) => openQueues(url, { installation: brand, brand, deployment: 'all' }, server)),
  );
  const started: string[] = [];
  const due = openTestDueTaker();
  const schedule = { pattern: '* * * * * *', timeZone: 'UTC' };
  for (const own of queues) {
    const brand = own.prefix.slice(0, -1);
    await applySchedules(
      own,
      ['sync-orders', 'sync-reviews'].map((job) => ({ job, ...schedule })),
    );
    await due.take(own, async (job) => {
      started.push(`${brand} ${job}`);
      if (brand === 'a' && job === 'sync-orders') await never();
    });
  }
  const count = (name: string) => started.filter((one) => one === name).length;
  await until(async () => ['a sync-reviews', 'a_b sync-orders', 'b sync-reviews'].every((name) => count(name) >= 2));
  expect(count('a sync-orders')).toBe(1);
  expect(await connections()).toBe(1);
}

test('due runs of all brands wait on one connection; a brand that hangs delays none', async () => {
  const url = await createDatabase('migrated');
  const waiting = `select from pg_stat_activity where datname = current_database() and application_name like 'review-sync-scheduled%'`;
  await expectDueRuns(url, async () => (await query(url, waiting)).length);
});

redisTest('due runs of all brands wait on one connection of Redis, too', async () => {
  const redis = await startRedis();
  const waiting = async () => {
    const clients = await withRedis(redis.url, (one) => one.client('LIST'));
    return String(clients)
      .split('\n')
      .filter((line) => /cmd=bzpopmin/.test(line)).length;
  };
  await expectDueRuns(redis.url, () => until(waiting));
});
