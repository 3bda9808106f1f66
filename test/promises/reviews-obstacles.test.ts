import { expect, onTestFinished } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { type CliEnd, runCli } from '../harness/cli.ts';
import { hourlyReviews, hourMs } from '../harness/hourly-reviews.ts';
import { type Answer, type Call, startChangingProxy } from '../harness/proxy.ts';
import { openWorld, type World } from '../harness/world.ts';
import { worldTest } from '../harness/world-test.ts';

const day = 24 * hourMs;
const ago = (days: number) => new Date(Date.now() - days * day).toISOString();
/** All reviews of these tests are younger. Where the overview is not believed, a run reads each window since then. */
const years = { REVIEW_YEARS_FROM: ago(200).slice(0, 4) };

/** What this test does to the responses; replaced while the test goes on. */
type Twist = { change?: ((answer: Answer, call: Call) => void) | undefined };

/** `hourly(count)`: a service behind a proxy, with one review an hour, or in so many hours, the newest three hours old. */
const test = worldTest.extend('hourly', ({ openWorld }) => async (count: number, hours = 1) => {
  const world = await openWorld({ shop: 'empty', environment: years });
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(count, hours));
  const twist: Twist = {};
  const answer = (answer: Answer, call: Call) => twist.change?.(answer, call);
  await world.through((url) => startChangingProxy(url, { answer }));
  const cli = (...args: string[]): Promise<CliEnd> => world.cli(...args, '--json');
  return { world, twist, cli };
});

const reportOf = (end: CliEnd) =>
  JSON.parse(end.stdout) as { outcome: string; error?: string; counts: Record<string, number> };
const listed = (world: World) => world.service.requests()['GET /v1/reviews'] ?? 0;
const held = async (world: World) => (await world.warehouse('select id from warehouse.reviews')).length;
const deleted = (world: World) =>
  world.warehouse('select id::integer from warehouse.reviews where deleted_at is not null order by id');
const isList = ({ path, method }: Call) => method === 'GET' && path === '/v1/reviews';
const without = (answer: Answer, ids: readonly number[]) => {
  answer.body = (answer.body as { id: number }[]).filter((review) => !ids.includes(review.id));
};

/** The service refuses every list whose period holds this moment (read in Asia/Seoul). */
const refusing = (at: Date): Twist['change'] => {
  const local = new Date(at.getTime() + 9 * hourMs).toISOString().slice(0, 19).replace('T', ' ');
  return (answer, call) => {
    const [start, end] = [call.query.get('start_datetime') ?? '', call.query.get('end_datetime') ?? ''];
    if (isList(call) && start <= local && local <= end)
      Object.assign(answer, { status: 403, body: { error: 'n\u0000o' } });
  };
};

test('a second that the service refuses stops neither the cursor nor the detection of deletions, and is read once it can be', async ({
  hourly,
}) => {
  const { world, twist, cli } = await hourly(200);
  const [bad] = await world.atService<{ at: Date }>(
    'select created_at as at from reference_service.reviews where id = 100',
  );
  twist.change = refusing(bad?.at ?? new Date());
  const first = await cli('sync', 'reviews');
  expect(first.status).toBe(1);
  expect(reportOf(first).error).toContain('cannot be read');
  expect(await held(world)).toBe(199);
  expect(await world.warehouse('select from sync.settings where reviews_cursor is not null')).toHaveLength(1);
  const [gap] = await world.warehouse<{ seconds: number }>(
    'select extract(epoch from end_at - start_at)::integer as seconds from sync.open_gaps',
  );
  expect(gap?.seconds).toBeLessThan(5);
  // A gap whose next attempt is due later, of dates that were read before.
  await world.warehouse(`insert into sync.open_gaps (axis, start_at, end_at, kind, reason)
    select 'updated', start_at, end_at, kind, reason from sync.open_gaps`);
  const gapsRead = await cli('backfill', 'reviews', '--gaps');
  expect([gapsRead.status, reportOf(gapsRead).counts.requests]).toEqual([1, expect.any(Number)]);
  expect(reportOf(gapsRead).error).toContain('cannot be read');
  await world.warehouse(`delete from sync.open_gaps where axis = 'updated'`);

  await world.atService('delete from reference_service.reviews where id = 50');
  const reconciled = await cli('sync', 'reconcile');
  expect(reconciled.status).toBe(1);
  expect(await deleted(world)).toEqual([{ id: 50 }]);

  await world.atService(
    `insert into reference_service.reviews (created_at, updated_at, message) values (now(), now(), 'new')`,
  );
  const before = listed(world);
  const second = await cli('sync', 'reviews');
  expect(second.status).toBe(1);
  expect(await world.warehouse(`select from warehouse.reviews where message = 'new'`)).toHaveLength(1);
  expect(listed(world) - before).toBeLessThan(20);
  const status = await cli('status');
  expect(status.stdout).toContain('cannot be read');
  const { stdout } = await world.cli('status');
  expect(stdout).toMatch(/Open gaps\n.*Why\s+created .*the service refuses the request \(4xx\)/);

  twist.change = undefined;
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
  expect(await world.warehouse('select from warehouse.reviews where id = 100')).toHaveLength(1);
});

test.each([
  ['now', 0],
  ['the end of today', 1],
])(
  'a service that refuses an end after %s is read up to then, and the cursor moves on with each run',
  async (_, isDay) => {
    const world = await openWorld({ shop: 'empty', environment: years });
    onTestFinished(() => world[Symbol.asyncDispose]());
    const localNow = () => new Date(Date.now() + 9 * hourMs).toISOString().slice(0, 19).replace('T', ' ');
    await world.through((url) =>
      startChangingProxy(url, {
        answer(answer, call) {
          const last = isDay ? `${localNow().slice(0, 10)} 23:59:59` : localNow();
          if (isList(call) && (call.query.get('end_datetime') ?? '') > last)
            Object.assign(answer, { status: 422, body: {} });
        },
      }),
    );
    await seedReviews(world.serviceDatabaseUrl, hourlyReviews(100));
    const cursor = async () =>
      (await world.warehouse<{ at: string }>(`select reviews_cursor ->> 'at' as at from sync.settings`))[0]?.at ?? '';
    const cursors: string[] = [];
    for (let run = 1; run <= 4; run += 1) {
      const before = listed(world);
      expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
      cursors.push(await cursor());
      if (run > 1) expect(listed(world) - before).toBeLessThanOrEqual(12);
      await world.atService(`insert into reference_service.reviews (created_at, updated_at, message)
      select at, at, 'new' from (select now() - interval '3 hours' + ${run} * interval '20 minutes' as at) d`);
    }
    expect(await held(world)).toBe(103);
    expect(cursors).toEqual([...new Set(cursors)].sort());
    expect(Date.parse(cursors.at(-1) ?? '')).toBeGreaterThan(Date.now() - 3 * hourMs);
    expect(await world.warehouse('select * from sync.open_gaps')).toEqual([]);
  },
);

test('a second of updates that the service always refuses costs scheduled runs nothing more, and ends with a reading by creation', async ({
  hourly,
}) => {
  const { world, twist } = await hourly(60, 24);
  await world.run('sync-reviews');
  const at = new Date(Math.floor(Date.now() / 1000 - 600) * 1000);
  await world.atService(`update reference_service.reviews set message = 'all at once', updated_at = $1`, [at]);
  const refused = refusing(at);
  twist.change = (answer, call) => {
    if (call.query.get('date_updated_at') === '1') refused?.(answer, call);
  };
  expect(await world.run('sync-reviews', {}, 'schedule')).toMatchObject({ outcome: 'incomplete' });
  const before = listed(world);
  for (let run = 0; run < 3; run += 1)
    expect(await world.run('sync-reviews', {}, 'schedule')).toMatchObject({ outcome: 'incomplete' });
  expect((listed(world) - before) / 3).toBeLessThan(13);
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done' });
  expect(await world.warehouse(`select from warehouse.reviews where message <> 'all at once'`)).toEqual([]);
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);

  // Refused once more, it is open until everything was read since: the next reconcile reads the newest days.
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await world.run('reconcile-reviews')).toMatchObject({
    outcome: 'incomplete',
    error: expect.stringContaining('1 span of reviews is not read'),
  });
  await world.run('backfill-reviews');
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
});

test('a window that the warehouse cannot store is an open gap behind the cursor, until a run has stored it', async ({
  hourly,
}) => {
  const { world, cli } = await hourly(60);
  await world.warehouse(`
    create function public.full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`);
  await world.warehouse(`
    create trigger full_disk before insert on warehouse.reviews
    for each row when (new.message = 'review 7') execute function public.full_disk()`);
  const refused = await cli('sync', 'reviews');
  expect(refused.status).toBe(1);
  expect(reportOf(refused)).toMatchObject({
    reason: 'steps-failed',
    error: expect.stringContaining('could not extend'),
  });
  expect(await world.warehouse('select from sync.open_gaps')).not.toEqual([]);
  expect(await world.warehouse('select kind from sync.dead_letters')).toEqual([]);
  await world.warehouse('drop trigger full_disk on warehouse.reviews');
  expect(await cli('sync', 'reviews')).toMatchObject({ status: 0 });
  expect(await held(world)).toBe(60);
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
});

test('bad reviews count once a run, keep nothing of their window from being covered or found deleted, and the reconcile stores them once it can', async ({
  hourly,
}) => {
  const { world } = await hourly(120);
  const bad = `('review 60', 'review 120')`;
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message not in ${bad})`);
  const counts = { inserted: 118, refused: 2 };
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete', counts });
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
  await world.atService('delete from reference_service.reviews where id between 41 and 59');
  // A reconcile reads both in lists, and by their ids.
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'incomplete', counts: { refused: 2 } });
  expect(await deleted(world)).toHaveLength(19);

  await world.warehouse(`alter table warehouse.reviews drop constraint bad;
    insert into sync.dead_letters (kind, key, reason, payload, last_failed_at)
    values ('review', '0', 'of an earlier run', '{}', now() - interval '32 days')`);
  const stored = { outcome: 'done', counts: { inserted: 2, refused: 0 } };
  expect(await world.run('reconcile-reviews')).toMatchObject(stored);
  // Analysts see each run when it has ended.
  expect(await world.warehouse('select sum(reviews)::integer as n from bi.reviews_by_day')).toEqual([{ n: 101 }]);
  expect(await world.warehouse('select from sync.dead_letters where resolved_at is null')).toEqual([]);
});

test('the dead letter of a review that the service deleted, or whose id it corrected, closes by itself', async ({
  hourly,
}) => {
  const { world, twist } = await hourly(60);
  twist.change = (answer, call) => {
    if (!isList(call)) return;
    for (const one of answer.body as { id: unknown }[]) if (one.id === 30) one.id = null;
  };
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message <> 'review 20')`);
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete' });
  const open = () => world.warehouse('select from sync.dead_letters where resolved_at is null');
  expect(await open()).toHaveLength(2);

  twist.change = undefined;
  await world.atService('delete from reference_service.reviews where id = 20');
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await open()).toHaveLength(1);
  // A backfill of everything is not done either, although it meets no bad record.
  await world.warehouse(`update sync.dead_letters set last_failed_at = now() - interval '1 day'`);
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete' });
  // Everything was read in the month since, and no list has shown the record without an id.
  for (const [days, outcome] of [
    [30, 'incomplete'],
    [32, 'done'],
  ]) {
    await world.warehouse(`update sync.dead_letters set last_failed_at = now() - interval '${days} days'`);
    expect(await world.run('reconcile-reviews')).toMatchObject({ outcome });
  }
  expect(await open()).toEqual([]);
});

test('a backfill of some days ends by what it met in them, not by a bad review of other days', async ({ hourly }) => {
  const { world, cli } = await hourly(60, 5);
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message <> 'review 5')`);
  const day = (agoDays: number) => new Date(Date.now() - agoDays * 24 * hourMs).toISOString().slice(0, 10);
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await cli('backfill', 'reviews', '--from', day(5), '--to', day(1))).toMatchObject({ status: 0 });
  expect(await cli('backfill', 'reviews', '--from', day(5))).toMatchObject({ status: 0 });
  expect(await cli('backfill', 'reviews', '--from', day(14), '--to', day(10))).toMatchObject({ status: 1 });
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete' });
});

test('a review that cannot be written is asked for by the schedule with growing distances, by a command at once', async ({
  hourly,
}) => {
  const { world } = await hourly(30);
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message <> 'review 15')`);
  await world.run('sync-reviews');
  const attempts = async () => {
    const [open] = await world.warehouse<{ attempts: number }>('select attempts from sync.dead_letters');
    return open?.attempts ?? 0;
  };
  const first = await attempts();
  await world.run('sync-reviews', {}, 'schedule');
  expect(await attempts()).toBe(first);
  await world.warehouse(`update sync.dead_letters set last_failed_at = now() - interval '1 day'`);
  await world.run('sync-reviews', {}, 'schedule');
  expect(await attempts()).toBe(first + 1);
  await world.run('sync-reviews');
  expect(await attempts()).toBe(first + 2);
});

test('a discarded review stays discarded while it fails for the same reason, and comes back when it fails for another', async ({
  hourly,
}) => {
  const { world, cli } = await hourly(30);
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message not like 'review 15%')`);
  await world.run('sync-reviews');
  const open = () =>
    world.warehouse<{ id: number }>('select id::integer as id from sync.dead_letters where resolved_at is null');
  const [one] = await open();
  expect(await cli('dead-letters', 'discard', String(one?.id))).toMatchObject({ status: 0 });
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'done' });
  // A hundred days later, while the service still shows it.
  await world.warehouse(`update sync.dead_letters set resolved_at = now() - interval '100 days',
    last_failed_at = now() - interval '100 days'`);
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done', counts: { refused: 0 } });
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'done' });
  expect(await open()).toEqual([]);
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);

  await world.atService(`update reference_service.reviews set message = 'review 15 b' where id = 15`);
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'done' });
  await world.warehouse('alter table warehouse.reviews rename constraint bad to worse');
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await open()).toHaveLength(1);
});

test('a service that fails on the ids of sixty missing reviews is asked for some twenty of them, also where it has known each to be gone a moment before', async ({
  hourly,
}) => {
  const { world, twist } = await hourly(200);
  await world.run('sync-reviews');
  await world.atService('delete from reference_service.reviews where id between 21 and 80');
  for (const pass of [1, 2]) {
    let refused = 0;
    const asked = new Map<number, number>();
    twist.change = (answer, call) => {
      const id = Number(/^\/v1\/reviews\/(\d+)$/.exec(call.path)?.[1]);
      if (!(id >= 21 && id <= 80)) return;
      const times = (asked.get(id) ?? 0) + 1;
      asked.set(id, times);
      if (times < pass) return;
      refused += 1;
      Object.assign(answer, { status: 403, body: {} });
    };
    expect(await world.run('reconcile-reviews')).toMatchObject({
      outcome: 'incomplete',
      error: expect.stringContaining('60 reviews may be gone and could not be asked about'),
    });
    // Four at a time.
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(20 + 4);
    expect(await deleted(world)).toEqual([]);
  }
});

test('reviews that are only hidden from the lists are not deleted, are stored as changed, and are asked for once by each reconcile that reads their date', async ({
  hourly,
}) => {
  const { world, twist, cli } = await hourly(60);
  await world.run('sync-reviews');
  await world.atService(
    `update reference_service.reviews set message = 'reworded', display = false, updated_at = now() where id <= 40`,
  );
  let asked = 0;
  twist.change = (answer, call) => {
    if (isList(call))
      without(
        answer,
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
    if (/^\/v1\/reviews\/\d+$/.test(call.path)) asked += 1;
  };
  expect(await cli('verify', 'reviews', '--json')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('message'),
  });
  asked = 0;
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done', counts: { deleted: 0, unlisted: 40 } });
  expect(asked).toBeLessThan(45);
  const shown = `select count(*)::integer as n from warehouse.reviews where display = false and message = 'reworded'`;
  expect(await world.warehouse(shown)).toEqual([{ n: 40 }]);
  expect(await deleted(world)).toEqual([]);
  expect(await world.cli('verify', 'reviews')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('40 reviews in no list that the service knows: hidden, perhaps.'),
  });
  // The service knows them: nobody suspects them.
  const status = await cli('status');
  expect(JSON.parse(status.stdout)).toMatchObject({ suspectedGone: 0 });
  // Where these days are read once a month only, they are asked for once a month only.
  asked = 0;
  const monthly = await runCli(['sync', 'reconcile'], { ...world.environment, RECONCILE_DAYS: '0' });
  expect(monthly.status).toBe(0);
  expect(asked).toBeLessThan(5);
  await world.atService(`update reference_service.reviews set message = 'again' where id = 7`);
  await world.atService('delete from reference_service.reviews where id = 8');
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done', counts: { deleted: 1, unlisted: 39 } });
  expect(await world.warehouse(`select from warehouse.reviews where message = 'again'`)).toHaveLength(1);
});

test.for([
  ['the middle of the first pass', 20, 30, 'done', [7]],
  ['the first pass and the second, until after both', 5, 200, 'incomplete', []],
] as const)(
  'while a gateway answers 404 to every id, hidden reviews are not marked as deleted: %s',
  async ([, from, count, outcome, marked], { hourly }) => {
    const { world, twist } = await hourly(80);
    await world.run('sync-reviews');
    await world.atService('delete from reference_service.reviews where id = 7');
    const hidden = Array.from({ length: 60 }, (_, index) => index + 1);
    let asked = 0;
    twist.change = (answer, call) => {
      if (isList(call)) without(answer, hidden);
      if (!/^\/v1\/reviews\/\d+$/.test(call.path)) return;
      asked += 1;
      if (asked > from && asked <= from + count) Object.assign(answer, { status: 404, body: {} });
    };
    expect(await world.run('reconcile-reviews')).toMatchObject({ outcome });
    expect(await deleted(world)).toEqual(marked.map((id) => ({ id })));
  },
);

test('a review that the service restores as hidden is marked deleted no longer', async ({ hourly }) => {
  const { world, twist } = await hourly(30);
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  await world.atService('create table kept as select * from reference_service.reviews where id = 7');
  await world.atService('delete from reference_service.reviews where id in (7, 8)');
  await world.run('reconcile-reviews');
  expect(await deleted(world)).toEqual([{ id: 7 }, { id: 8 }]);
  await world.atService('insert into reference_service.reviews overriding system value select * from kept');
  twist.change = (answer, call) => isList(call) && without(answer, [7]);
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done' });
  expect(await deleted(world)).toEqual([{ id: 8 }]);
  // It stays so, and is asked for as any hidden review.
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done' });
  expect(await deleted(world)).toEqual([{ id: 8 }]);
});

test('a service that answers 404 or 403 to every id deletes nothing, and says so', async ({ hourly }) => {
  const { world, twist } = await hourly(60);
  await world.run('sync-reviews');
  for (const [status, said] of [
    [404, 'The service answers 404 for the ids of other reviews, too: 60, 59, 58. None was marked as deleted'],
    [403, '2 reviews may be gone and could not be asked about: '],
  ] as const) {
    twist.change = (answer, call) => {
      if (isList(call)) without(answer, [7, 8]);
      if (/^\/v1\/reviews\/\d+$/.test(call.path)) Object.assign(answer, { status, body: {} });
    };
    const error = expect.stringContaining(said);
    expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'incomplete', error });
    expect(await deleted(world)).toEqual([]);
  }
});

test('while the clocks differ by more than a day, sync reviews and verify reviews fail and say so, and nothing is lost', async ({
  hourly,
}) => {
  const { world, twist, cli } = await hourly(30);
  const setClock = (days: number) => {
    twist.change = ({ headers }) => Object.assign(headers, { date: new Date(Date.now() + days * day).toUTCString() });
  };
  setClock(-0.9);
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  await world.atService(
    `insert into reference_service.reviews (created_at, updated_at, message) values (now(), now(), 'new')`,
  );
  for (const [days, command, said] of [
    [60, 'sync', '60 days ahead of the clock of this machine'],
    [-1.2, 'sync', '1 day behind the clock of this machine'],
    [60, 'verify', '60 days ahead of the clock of this machine'],
  ] as const) {
    setClock(days);
    expect(await cli(command, 'reviews')).toMatchObject({ status: 1, stdout: expect.stringContaining(said) });
  }
  twist.change = undefined;
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  expect(await held(world)).toBe(31);
});

test('an overview that is a day off at both ends, or names no review, hides none of a service that has had none for months', async ({
  hourly,
}) => {
  const { world, twist } = await hourly(0);
  await world.atService(`insert into reference_service.reviews (created_at, updated_at, message)
    select at, at, 'old' from (select now() - interval '100 days' - n * interval '1 hour' as at from generate_series(0, 59) n) d`);
  for (const [first, last] of [
    [ago(100 + 35 / 24), ago(101)],
    [null, null],
  ] as const) {
    await world.warehouse('delete from warehouse.reviews');
    twist.change = naming(first, last);
    expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'done' });
    expect(await held(world)).toBe(60);
  }
});

test('an overview that answers 404 or 500 stops no command of reviews', async ({ hourly }) => {
  const { world, twist, cli } = await hourly(60);
  for (const status of [404, 500]) {
    twist.change = (answer, { path }) => {
      if (path === '/v1/reviews/overview') Object.assign(answer, { status, body: {} });
    };
    expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
    expect(await held(world)).toBe(60);
    await world.warehouse('delete from warehouse.reviews where id = 7');
    const days = ['--from', ago(30).slice(0, 10), '--to', ago(-1).slice(0, 10)];
    expect(await cli('verify', 'reviews', ...days)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('missing'),
    });
    expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done' });
    expect(await held(world)).toBe(60);
  }
});

test('where no overview exists, or it names no date, the days that were not read have a name all the same', async ({
  hourly,
}) => {
  const { world, twist, cli } = await hourly(60, 6);
  for (const body of [undefined, { first_review_created_at: null, last_review_created_at: null }]) {
    await world.warehouse('truncate warehouse.review_overview, sync.export_windows');
    twist.change = (answer, { path }) => {
      if (path === '/v1/reviews/overview') Object.assign(answer, body ? { body } : { status: 404, body: {} });
    };
    for (const run of ['sync-reviews', 'sync-reviews']) expect(await world.run(run)).toMatchObject({ outcome: 'done' });
    const unread = 'select count(*)::integer as days from bi.coverage_by_day where not is_complete';
    await world.warehouse(`update sync.settings set reviews_cursor = reviews_cursor || '{"at": "${ago(0)}"}'`);
    await world.warehouse(`delete from sync.export_windows where axis = 'created'`);
    expect((await world.warehouse<{ days: number }>(unread))[0]?.days).toBeGreaterThan(5);
    expect((await cli('status')).stdout).toContain('review-sync backfill reviews --gaps');
  }
});

test('what a cache answers proves what was so when the cache stored it, and doctor says so', async ({ hourly }) => {
  const { world, twist, cli } = await hourly(30);
  twist.change = (answer, { method }) => {
    if (method === 'GET') Object.assign(answer.headers, { age: '540' });
  };
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  expect(await held(world)).toBe(30);
  const ages = `select extract(epoch from now() - captured_at)::float8 as captured,
    (select extract(epoch from now() - max(started_at))::float8 from sync.export_windows) as read from warehouse.review_overview`;
  const [{ captured, read } = { captured: 0, read: 0 }] =
    await world.warehouse<Record<'captured' | 'read', number>>(ages);
  expect([captured > 530, read > 530]).toEqual([true, true]);
  expect((await cli('doctor')).stdout).toContain('a cache in front of it answers, up to 540 s old');
});

test('days on which no review can be are a usage error, not "done" or "the same"', async ({ hourly }) => {
  const { cli } = await hourly(3);
  for (const days of [
    ['--from', '1990-01-01', '--to', '1990-12-31'],
    ['--to', '1999-01-01'],
    ['--from', '2999-01-01'],
  ])
    for (const command of ['verify', 'backfill']) {
      const { status, stdout } = await cli(command, 'reviews', ...days);
      expect([command, ...days, status, stdout]).toEqual([
        command,
        ...days,
        2,
        expect.stringContaining('REVIEW_YEARS_FROM'),
      ]);
    }
  // Days before the first review are days.
  expect(await cli('verify', 'reviews', '--to', `${years.REVIEW_YEARS_FROM}-01-01`)).toMatchObject({ status: 0 });
});

/** The proxy's overview; without `last`, the service's own. */
const naming = (first: string | null, last?: string | null): Twist['change'] => {
  const named = { first_review_created_at: first, ...(last !== undefined && { last_review_created_at: last }) };
  return (answer, { path }) => {
    if (path === '/v1/reviews/overview') Object.assign(answer.body as object, named);
  };
};

test('an overview that names the first day of the year 1 and the last of 9999 stops neither a sync nor a reconcile', async ({
  hourly,
}) => {
  const { world, twist, cli } = await hourly(60);
  twist.change = naming('0001-01-01T00:00:00.000+09:00', '9999-12-31T23:59:59.999-12:00');
  for (const what of ['reviews', 'reconcile']) {
    expect(await cli('sync', what)).toMatchObject({ status: 0, stderr: expect.not.stringContaining('out of range') });
    expect(await held(world)).toBe(60);
  }
  expect(await cli('status')).toMatchObject({ status: 0 });
});
