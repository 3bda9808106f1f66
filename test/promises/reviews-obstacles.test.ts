import { expect } from 'vitest';
import { valuesOf } from '../harness/database.ts';
import type { Answer, Call, Change } from '../harness/proxy.ts';
import { hourlyReviews, hourMs, reviewAt, type World, worldTest } from '../harness/world.ts';

const day = 24 * hourMs;
const ago = (days: number) => new Date(Date.now() - days * day).toISOString();
/** All reviews of these tests are younger. */
const years = { REVIEW_YEARS_FROM: ago(200).slice(0, 4) };

/** What this test does to the responses; replaced while the test goes on. */
type Twist = { change?: Change['answer'] | undefined };
async function twisted(world: World): Promise<Twist> {
  const twist: Twist = {};
  await world.changing({ answer: (answer, call) => twist.change?.(answer, call) });
  return twist;
}

/**
 * `hourly(count)`: a service behind a proxy, with one review an hour, or in so many hours, the newest three hours old.
 */
const test = worldTest.extend('hourly', ({ openWorld }) => async (count: number, hours = 1) => {
  const world = await openWorld({ environment: years });
  await world.seedReviews(hourlyReviews(count, hours));
  return { world, twist: await twisted(world) };
});

const listed = (world: World) => world.service.requests()['GET /v1/reviews'] ?? 0;
const held = async (world: World) => (await world.warehouse('select id from warehouse.reviews')).length;
const gaps = (world: World) => world.warehouse('select * from sync.open_gaps');
const deleted = async (world: World) =>
  valuesOf(await world.warehouse('select id::integer from warehouse.reviews where deleted_at is not null order by id'));
const openLetters = (world: World) => world.warehouse('select id from sync.dead_letters where resolved_at is null');
const addReview = (world: World) => world.seedReviews([reviewAt(Date.now(), { message: 'new' })]);
const isList = ({ path, method }: Call) => method === 'GET' && path === '/v1/reviews';
const isById = ({ path }: Call) => /^\/v1\/reviews\/\d+$/.test(path);
const without = (answer: Answer, ids: readonly number[]) => {
  answer.body = (answer.body as { id: number }[]).filter((review) => !ids.includes(review.id));
};
const seoul = (at: Date) => new Date(at.getTime() + 9 * hourMs).toISOString().slice(0, 19).replace('T', ' ');
/** The first and the last second of the period that a list is asked for. */
const periodOf = ({ query }: Call) => [query.get('start_datetime') ?? '', query.get('end_datetime') ?? ''] as const;
const daysOf = (call: Call) => (Date.parse(periodOf(call)[1]) - Date.parse(periodOf(call)[0])) / day;
const empty = (answer: Answer) => void Object.assign(answer, { body: [], headers: {} });
const incompleteBy = (text: string) => ({ outcome: 'incomplete', error: expect.stringContaining(text) });

/** The service refuses every list whose period holds this moment. */
const refusing = (at: Date): Twist['change'] => {
  const local = seoul(at);
  return (answer, call) => {
    const [start, end] = periodOf(call);
    if (isList(call) && start <= local && local <= end)
      Object.assign(answer, { status: 403, body: { error: 'n\u0000o' } });
  };
};

test('a second that the service refuses stops nothing else, and is read once it can be', async ({ hourly }) => {
  const { world, twist } = await hourly(200);
  const [bad] = valuesOf(await world.atService('select created_at from reference_service.reviews where id = 100'));
  twist.change = refusing(bad as Date);
  await world.ends(1, 'sync reviews --json', /"error": ?".*cannot be read/);
  expect(await held(world)).toBe(199);
  expect(await world.warehouse('select from sync.settings where reviews_cursor is not null')).toHaveLength(1);
  expect(await world.warehouse(`select from sync.open_gaps where end_at - start_at < interval '5 s'`)).toHaveLength(1);

  await world.atService('delete from reference_service.reviews where id = 50');
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await deleted(world)).toEqual([50]);
  await addReview(world);
  const before = listed(world);
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await world.warehouse(`select from warehouse.reviews where message = 'new'`)).toHaveLength(1);
  expect(listed(world) - before).toBeLessThan(20);
  await world.says('status', /Open gaps\n.*Why\s+created .*the service refuses the request \(4xx\)/);

  twist.change = undefined;
  await world.done('sync-reviews');
  expect(await gaps(world)).toEqual([]);
  expect(await world.warehouse('select from warehouse.reviews where id = 100')).toHaveLength(1);
});

test('lists that show nothing of what the overview names are gaps, not done', async ({ hourly }) => {
  const { world, twist } = await hourly(60, 24);
  // The list of one second shows it.
  twist.change = (answer, call) => isList(call) && daysOf(call) > 10 && empty(answer);
  const lies = incompleteBy('shows a review that the longer list lacks');
  expect(await world.run('sync-reviews')).toMatchObject(lies);
  await world.warehouse('truncate sync.open_gaps, sync.export_windows; update sync.settings set reviews_cursor = null');
  twist.change = (answer, call) => isList(call) && empty(answer);
  const unnamed = incompleteBy('overview names a review of');
  expect(await world.run('sync-reviews')).toMatchObject(unnamed);
  const { stdout } = await world.ends(1, 'verify reviews --json');
  expect(JSON.parse(stdout)).toMatchObject({ differing: 0, problems: [unnamed.error, unnamed.error] });
  twist.change = undefined;
  await world.done('sync-reviews');
  expect(await held(world)).toBe(60);
});

test('an overview that names hidden reviews is no gap if lists show others', async ({ hourly }) => {
  const { world, twist } = await hourly(20);
  await world.atService(`update reference_service.reviews set created_at = now() - interval '100 days' where id = 1`);
  twist.change = (answer, call) => isList(call) && without(answer, [1, 20]);
  for (const job of ['sync-reviews', 'reconcile-reviews']) await world.done(job);
  await world.ends(0, 'verify reviews');
  // Neither the first nor the last review that the warehouse holds is listed any more.
  await world.atService('delete from reference_service.reviews where id in (2, 19)');
  expect(await world.json('verify reviews')).toMatchObject({ problems: [] });
  await world.done('reconcile-reviews');
  expect([await deleted(world), await gaps(world)]).toEqual([[2, 19], []]);
});

test('a date that cannot be read of the review that the overview names leaves no gap', async ({ hourly }) => {
  const { world, twist } = await hourly(20, 48);
  twist.change = (answer, call) => {
    const all = isList(call) ? (answer.body as { message: string; created_at: string }[]) : [];
    for (const one of all) if (one.message === 'review 20') one.created_at = one.created_at.slice(0, 19);
  };
  const counts = { inserted: 19, refused: 1 };
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete', counts });
  expect(await gaps(world)).toEqual([]);
});

test('bad reviews, and a full disk, stop nothing else, and are stored in the end', async ({ hourly }) => {
  const { world } = await hourly(120);
  await world.warehouse(`
    create function public.full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
    create trigger full_disk before insert on warehouse.reviews
    for each row when (new.message = 'review 7') execute function public.full_disk()`);
  const full = { reason: 'steps-failed', ...incompleteBy('could not extend') };
  expect(await world.run('sync-reviews')).toMatchObject(full);
  expect(await gaps(world)).not.toEqual([]);
  expect(await openLetters(world)).toEqual([]);
  await world.warehouse('drop trigger full_disk on warehouse.reviews; delete from warehouse.reviews');

  const bad = `('review 60', 'review 120')`;
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message not in ${bad})`);
  const counts = { inserted: 118, refused: 2 };
  expect(await world.run('backfill-reviews')).toMatchObject({ outcome: 'incomplete', counts });
  expect(await gaps(world)).toEqual([]);
  await world.atService('delete from reference_service.reviews where id between 41 and 60');
  // A reconcile reads the other one in a list, and by its id. The dead letter of one that is gone closes.
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'incomplete', counts: { refused: 1 } });
  expect(await deleted(world)).toHaveLength(19);
  expect(await openLetters(world)).toHaveLength(1);

  await world.warehouse('alter table warehouse.reviews drop constraint bad');
  expect(await world.done('reconcile-reviews')).toMatchObject({ inserted: 1, refused: 0 });
  // Analysts see each run when it has ended.
  expect(await world.warehouse('select sum(reviews)::integer as n from bi.reviews_by_day')).toEqual([{ n: 100 }]);
  expect(await openLetters(world)).toEqual([]);
});

test('what lists show of a bad review counts, not an older version or 404 by its id', async ({ hourly }) => {
  const { world, twist } = await hourly(3);
  await world.done('sync-reviews');
  await world.atService('update reference_service.reviews set updated_at = now()');
  twist.change = (answer, call) => {
    const { body } = answer;
    if (isList(call)) for (const one of body as { id: number; score: number }[]) if (one.id < 3) one.score = 77;
    if (call.path === '/v1/reviews/1') Object.assign(body as object, { updated_at: '2024-01-01T00:00:00Z' });
    if (call.path === '/v1/reviews/2') answer.status = 404;
  };
  const incomplete = { outcome: 'incomplete', reason: 'dead-letters', counts: { refused: 2 } };
  for (const job of ['sync-reviews', 'backfill-reviews', 'reconcile-reviews'])
    expect([job, await world.run(job)]).toMatchObject([job, incomplete]);
});

test('404 to every id, or once, closes no dead letter of a review', async ({ hourly }) => {
  const { world, twist } = await hourly(3);
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message <> 'review 1')`);
  await world.run('backfill-reviews');
  for (const times of [Number.POSITIVE_INFINITY, 1]) {
    let asked = 0;
    twist.change = (answer, call) => isById(call) && ++asked <= times && Object.assign(answer, { status: 404 });
    await world.ends(1, 'dead-letters retry');
    expect(await openLetters(world)).toHaveLength(1);
  }
  twist.change = undefined;
  await world.atService('delete from reference_service.reviews where id = 1');
  await world.ends(0, 'dead-letters retry');
});

test('a bad review is asked for less and less often; no backfill of other days fails', async ({ hourly }) => {
  const { world } = await hourly(12, 39);
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message not like 'review 5%')`);
  await world.atService(`update reference_service.reviews set message = 'fine' where id > 5`);
  await world.run('sync-reviews');
  const attemptsAfter = async (startedBy: 'schedule' | 'command') => {
    await world.run('sync-reviews', {}, startedBy);
    return Number(valuesOf(await world.warehouse('select attempts from sync.dead_letters'))[0]);
  };
  const first = await attemptsAfter('schedule');
  expect(await attemptsAfter('schedule')).toBe(first);
  await world.warehouse(`update sync.dead_letters set last_failed_at = now() - interval '1 day'`);
  expect(await attemptsAfter('schedule')).toBe(first + 1);
  // A command asks at once.
  expect(await attemptsAfter('command')).toBe(first + 2);

  const date = (days: number) => ago(days).slice(0, 10);
  for (const [days, outcome] of [
    [{ from: date(5), to: date(1) }, 'done'],
    [{ from: date(5) }, 'done'],
    [{ from: date(14), to: date(10) }, 'incomplete'],
    [{}, 'incomplete'],
  ] as const)
    expect([days, await world.run('backfill-reviews', days)]).toMatchObject([days, { outcome }]);
});

test('hidden reviews are stored as changed, and asked for once a reconcile', async ({ hourly }) => {
  const { world, twist } = await hourly(20);
  await world.run('sync-reviews');
  await world.atService(
    `update reference_service.reviews set message = 'reworded', display = false, updated_at = now() where id <= 10`,
  );
  let [asked, refusedUpTo] = [0, 0];
  twist.change = (answer, call) => {
    if (isList(call)) without(answer, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    if (!isById(call)) return;
    asked += 1;
    if (Number(call.path.split('/').at(-1)) <= refusedUpTo) answer.status = 403;
  };
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done', counts: { deleted: 0, unlisted: 10 } });
  expect(asked).toBeLessThan(15);
  const shown = `select from warehouse.reviews where display = false and message = 'reworded'`;
  expect(await world.warehouse(shown)).toHaveLength(10);
  await world.says('verify reviews', '10 reviews in no list that the service knows: hidden, perhaps.');
  expect(await world.json('status')).toMatchObject({ suspectedGone: 0 });
  await world.atService(`update reference_service.reviews set message = 'again' where id = 7`);
  await world.atService('delete from reference_service.reviews where id = 8');
  expect(await world.run('reconcile-reviews')).toMatchObject({ outcome: 'done', counts: { deleted: 1, unlisted: 9 } });
  expect(await world.warehouse(`select from warehouse.reviews where message = 'again'`)).toHaveLength(1);
  // The service refuses to show the hidden ones, then any.
  const unasked = incompleteBy('9 reviews may be gone and could not be asked about: ');
  for (refusedUpTo of [10, 20]) expect(await world.run('reconcile-reviews')).toMatchObject(unasked);
});

test('while the clocks differ by more than a day, runs of reviews fail and say so', async ({ hourly }) => {
  const { world, twist } = await hourly(30);
  const setClock = (days: number) => {
    twist.change = ({ headers }) => Object.assign(headers, { date: new Date(Date.now() + days * day).toUTCString() });
  };
  setClock(-0.9);
  await world.done('sync-reviews');
  await addReview(world);
  setClock(-1.2);
  expect(await world.run('sync-reviews')).toMatchObject(incompleteBy('1 day behind the clock of this machine'));
  setClock(60);
  const ahead = '60 days ahead of the clock of this machine';
  expect(await world.run('sync-reviews')).toMatchObject(incompleteBy(ahead));
  await world.ends(1, 'verify reviews', ahead);
  // A response from a cache proves only what was so when the cache stored it.
  await world.warehouse('truncate warehouse.review_overview, sync.export_windows');
  twist.change = (answer, { method }) => method === 'GET' && Object.assign(answer.headers, { age: '540' });
  await world.done('sync-reviews');
  expect(await held(world)).toBe(31);
  const ages = `select extract(epoch from now() - captured_at) > 530 as captured,
    (select extract(epoch from now() - max(started_at)) > 530 from sync.export_windows) as read
    from warehouse.review_overview order by captured_at desc limit 1`;
  expect(await world.warehouse(ages)).toEqual([{ captured: true, read: true }]);
  await world.says('doctor', 'a cache in front of it answers, up to 9 min old');
});

/** The overview of the service. */
const isOverview = ({ path }: Call) => path === '/v1/reviews/overview';
const naming = (first: string | null, last: string | null): Twist['change'] => {
  const body = { first_review_created_at: first, last_review_created_at: last };
  return (answer, call) => isOverview(call) && Object.assign(answer, { body });
};
const failing =
  (status: number): Twist['change'] =>
  (answer, call) =>
    isOverview(call) && Object.assign(answer, { status, body: {} });

test('an overview that is a day off, weeks late or empty hides no old review', async ({ hourly }) => {
  const { world, twist } = await hourly(0);
  const old = Array.from({ length: 60 }, (_, n) => reviewAt(Date.now() - 100 * day - n * hourMs));
  await world.seedReviews(old);
  for (const overview of [naming(ago(100 + 35 / 24), ago(101)), naming(ago(70), ago(70)), naming(null, null)]) {
    await world.warehouse('delete from warehouse.reviews');
    twist.change = overview;
    await world.done('backfill-reviews');
    expect(await held(world)).toBe(60);
  }
});

test('of a service that shows by update only what was edited new reviews are read', async ({ hourly }) => {
  const { world, twist } = await hourly(60);
  const isEdited = (one: Record<string, unknown>) => one.created_at !== one.updated_at;
  twist.change = (answer, { query }) => {
    if (query.get('date_updated_at')) answer.body = (answer.body as Record<string, unknown>[]).filter(isEdited);
  };
  await world.run('sync-reviews');
  // Review 5 is edited before the new one is written, then after that.
  const written = (minutesAgo: number) => world.seedReviews([reviewAt(Date.now() - minutesAgo * 60_000)]);
  for (const [at, minutes] of [60, 0].entries()) {
    await written(10 - 5 * at);
    await world.atService(
      `update reference_service.reviews set updated_at = now() - interval '${minutes} minutes' where id = 5`,
    );
    await world.done('sync-reviews');
    expect(await held(world)).toBe(61 + at);
  }
  // A review appears whose date was read before, as after a moderation.
  await world.run('reconcile-reviews');
  await written(3);
  await world.done('sync-reviews');
  expect(await held(world)).toBe(63);
});

/** Lists without the reviews of the two seconds by which a request names its period. */
const excludingEnds: Twist['change'] = (answer, call) => {
  if (!isList(call)) return;
  const [start, end] = periodOf(call);
  const moment = (review: { created_at: string }) => seoul(new Date(review.created_at));
  const all = answer.body as { created_at: string }[];
  answer.body = all.filter((review) => start < moment(review) && moment(review) < end);
};

/** The list of a single second is empty for the first time. */
function emptyOnce(): Twist['change'] {
  let times = 0;
  return (answer, call) => isList(call) && daysOf(call) * day <= 1000 && ++times === 1 && empty(answer);
}

test('an odd overview stops no run of reviews; lists without their first second do', async ({ hourly }) => {
  const { world, twist } = await hourly(60, 6);
  // A review at the boundary of two windows would be in neither list.
  twist.change = excludingEnds;
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await held(world)).toBe(0);
  const absurd = naming('0001-01-01T00:00:00.000+09:00', '9999-12-31T23:59:59.999-12:00');
  for (const [at, overview] of [naming(null, null), emptyOnce(), failing(404), failing(500), absurd].entries()) {
    await world.warehouse('truncate warehouse.review_overview, sync.export_windows');
    twist.change = overview;
    expect([at, await world.run('sync-reviews')]).toMatchObject([at, { outcome: 'done' }]);
    expect(await held(world)).toBe(60);
    if (at < 3) continue;
    await world.warehouse('delete from warehouse.reviews where id = 37');
    const days = `--from ${ago(30).slice(0, 10)} --to ${ago(-1).slice(0, 10)}`;
    const { stderr } = await world.ends(1, `verify reviews ${days}`, 'missing');
    expect(stderr).not.toContain('out of');
    await world.done('reconcile-reviews');
    expect(await held(world)).toBe(60);
  }
  // The days that were not read have a name all the same.
  await world.warehouse(`update sync.settings set reviews_cursor = reviews_cursor || '{"at": "${ago(0)}"}'`);
  await world.warehouse(`delete from sync.export_windows where axis = 'created'`);
  const unread = `select from bi.coverage_by_day where not is_complete`;
  expect((await world.warehouse(unread)).length).toBeGreaterThan(5);
  await world.says('status', 'review-sync backfill reviews --gaps');
});

test('an overview that names no date costs little, and hides nothing for long', async ({ openWorld }) => {
  const world = await openWorld({ environment: { REVIEW_YEARS_FROM: ago(1000).slice(0, 4) } });
  const twist = await twisted(world);
  await world.done('sync-reviews');
  expect(listed(world)).toBeLessThan(60);

  // One and three years old: no list of the newest days shows them.
  await world.seedReviews([365, 1000].map((days) => reviewAt(Date.now() - days * day)));
  twist.change = naming(null, null);
  for (const known of [1, 2]) {
    await world.warehouse('delete from sync.export_windows');
    await world.done('reconcile-reviews');
    expect(await held(world)).toBe(known);
  }
});

test('days on which no review can be are a usage error, not "done" or "the same"', async ({ hourly }) => {
  const { world } = await hourly(3);
  const stderr = expect.stringContaining('REVIEW_YEARS_FROM');
  const days = ['--from 1990-01-01 --to 1990-12-31', '--to 1999-01-01', '--from 2999-01-01'];
  for (const command of [...days.map((some) => `verify reviews ${some}`), 'backfill reviews --to 1999-01-01'])
    expect([command, await world.cli(command)]).toMatchObject([command, { status: 2, stderr }]);
  // Days before the first review are days.
  const early = `verify reviews --to ${years.REVIEW_YEARS_FROM}-01-01`;
  expect(await world.cli(early)).toMatchObject({ status: 0 });
});
