import { expect } from 'vitest';
import { readWindowStep } from '../../jobs/read-window.ts';
import { secondOf } from '../../src/base/time/span.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runCli } from '../harness/cli.ts';
import { hourlyReviews, reviewAt, syncHourly } from '../harness/hourly-reviews.ts';
import { type Change, startChangingProxy, startRuleProxy } from '../harness/proxy.ts';
import { runOf } from '../harness/run-job.ts';
import type { World } from '../harness/world.ts';
import { worldTest } from '../harness/world-test.ts';

const day = 86_400_000;

const test = worldTest.extend('worldOptions', { shop: 'empty' });

const gone = (world: World) =>
  world.warehouse('select id::integer from warehouse.reviews where deleted_at is not null order by id');
/** From now on the service's answers are changed so. */
const answering = (world: World, answer: Change['answer'] & {}) =>
  world.through((url) => startChangingProxy(url, { answer }));
const reconcile = (world: World) => world.run('reconcile-reviews');

test('a review that is listed late is found although it is older than all others and one of 1993 hides the first date', async ({
  world,
}) => {
  await syncHourly(world, 5);
  const late = [new Date('1993-05-05'), new Date(Date.now() - 10 * day)].map((at) => reviewAt(at, { message: 'late' }));
  await seedReviews(world.serviceDatabaseUrl, late);
  expect(await reconcile(world)).toMatchObject({ outcome: 'done' });
  expect(
    await world.warehouse(`select count(*)::integer as late from warehouse.reviews where message = 'late'`),
  ).toEqual([{ late: 1 }]);
});

test.for<[held: number, lost: number, marked: number]>([
  [30, 20, 20],
  [40, 21, 0],
  [42, 21, 21],
  [30, 30, 0],
])('of %i reviews the service lost %i: %i are marked as deleted', async ([held, lost, marked], { world }) => {
  await syncHourly(world, held);
  await world.atService(`delete from reference_service.reviews where id <= ${lost}`);
  await reconcile(world);
  expect(await gone(world)).toHaveLength(marked);
});

test('the newest days are read each time, all else once a month', async ({ world }) => {
  // A year in eight windows, of which the newest 45 days are one and a bit.
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(70, 5 * 24));
  await world.run('sync-reviews');
  const requests = async () => {
    const before = world.service.requests()['GET /v1/reviews'] ?? 0;
    await reconcile(world);
    return (world.service.requests()['GET /v1/reviews'] ?? 0) - before;
  };
  const [all, again] = [await requests(), await requests()];
  await world.warehouse(`update sync.export_windows set started_at = started_at - interval '31 days'`);
  // No page exceeds another, so each may be full: the one behind it is asked for, and then it is asked for again.
  expect([all, again, await requests()]).toEqual([25, 7, 25]);
});

test('verify finds what is missing, stale and extra, repairs it, and then finds nothing', async ({ world }) => {
  await syncHourly(world, 150);
  const verify = (...more: string[]) => world.cli('verify', 'reviews', ...more);
  const same = expect.stringContaining('Service and warehouse hold the same reviews.');
  expect(await verify()).toMatchObject({ status: 0, stdout: same });
  await world.warehouse('delete from warehouse.reviews where id in (3, 4)');
  await world.warehouse(`update warehouse.reviews set message = 'other', extra = '{}' where id = 5`);
  // The newest one: what the service names and lists ends before it.
  await world.atService('delete from reference_service.reviews where id = 150');
  const found = await verify('--json');
  expect(found.status).toBe(1);
  const { differences } = JSON.parse(found.stdout);
  expect(differences).toHaveLength(4);
  expect(differences).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: 3, kind: 'missing' }),
      expect.objectContaining({ id: 5, kind: 'stale', fields: expect.arrayContaining(['message']) }),
      expect.objectContaining({ id: 150, kind: 'extra' }),
    ]),
  );
  const text = (await verify()).stdout;
  for (const sentence of [
    '3 of * is not in the warehouse',
    '5 of * differs in message',
    '150 of * is gone from the service',
  ])
    expect(text).toMatch(new RegExp(`^review ${sentence.replace('*', '20\\d\\d-\\d\\d-\\d\\d')}`, 'm'));
  const repaired = await verify('--repair');
  expect(repaired.stdout).toContain('4 reviews differ; all of them are repaired now.');
  expect(repaired.status).toBe(0);
  // Analysts see what was repaired.
  expect(await world.warehouse(`select sum(reviews)::integer as n from bi.reviews_by_day`)).toEqual([{ n: 149 }]);
  expect(await verify()).toMatchObject({ status: 0 });
  expect(await gone(world)).toEqual([{ id: 150 }]);
});

test('verify --repair of an old day marks what is gone, although the newest reviews of the warehouse are gone too', async ({
  world,
}) => {
  await syncHourly(world, 150);
  await world.atService('delete from reference_service.reviews where id in (5, 148, 149, 150)');
  const [row] = await world.warehouse<{ day: string }>(
    `select (created_at at time zone 'Asia/Seoul')::date::text as day from warehouse.reviews where id = 5`,
  );
  const days = ['--from', row?.day ?? '', '--to', row?.day ?? ''];
  expect(await world.cli('verify', 'reviews', ...days, '--repair')).toMatchObject({ status: 0 });
  expect(await gone(world)).toEqual([{ id: 5 }]);
});

test('the views of bi follow a run that takes hours, counted again at most once a minute', async ({ world }) => {
  const reviews = hourlyReviews(10);
  await seedReviews(world.serviceDatabaseUrl, reviews);
  const app = await world.openApp();
  const span = { start: secondOf(reviews[0]?.created_at ?? new Date()), end: secondOf(new Date()) };
  const countedAfter = async (runSeconds: number, countSeconds: number) => {
    await world.warehouse(`update sync.settings set counted_at = now() - interval '${countSeconds} seconds'`);
    const run = { ...runOf('backfill-reviews'), startedAt: new Date(Date.now() - runSeconds * 1000) };
    await readWindowStep.run(app, { axis: 'created', span }, { run, signal: app.abort.signal });
    return (await world.warehouse<{ n: number | null }>('select sum(reviews)::integer as n from bi.reviews_by_day'))[0]
      ?.n;
  };
  // A run of less than a minute counts once, at its end.
  expect(await countedAfter(20, 300)).toBe(null);
  expect(await countedAfter(300, 20)).toBe(null);
  expect(await countedAfter(61, 60)).toBe(10);
});

test('after the service restored a backup, with older dates and ids used again, verify --repair makes both the same', async ({
  world,
}) => {
  await syncHourly(world, 30);
  const verify = (...more: string[]) => world.cli('verify', 'reviews', ...more);
  await world.warehouse(`update warehouse.reviews set tag_name = 'old', extra = '{"comments": ["old"]}' where id = 7`);
  await world.atService(
    `update reference_service.reviews set message = 'restored', updated_at = updated_at - interval '1 day' where id in (5, 6)`,
  );
  await world.atService(`update reference_service.reviews set message = 'another', user_code = 'another',
    created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where id = 7`);
  const older =
    /^review 5 of \S+ has an older updated_at at the service than in the warehouse, and differs in message/m;
  expect(await verify()).toMatchObject({ status: 1, stdout: expect.stringMatching(older) });
  expect(await verify('--repair')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('all of them are repaired'),
  });
  expect(await verify()).toMatchObject({ status: 0 });
  const rows = `select message, tag_name, extra -> 'comments' as comments from warehouse.reviews where id = 7`;
  expect(await world.warehouse(rows)).toEqual([{ message: 'another', tag_name: null, comments: null }]);
});

test('verify --repair brings in a review that no list shows also when its date went back', async ({ world }) => {
  await syncHourly(world, 12);
  await world.atService(
    `update reference_service.reviews set message = 'restored', updated_at = updated_at - interval '1 day' where id = 5`,
  );
  await answering(world, (answer, { path }) => {
    if (path === '/v1/reviews') answer.body = (answer.body as { id: number }[]).filter(({ id }) => id !== 5);
  });
  expect(await world.cli('verify', 'reviews', '--repair')).toMatchObject({ status: 0 });
  expect(await world.warehouse(`select from warehouse.reviews where message = 'restored'`)).toHaveLength(1);
});

test('verify counts each review whose id no warehouse can hold, on the day of its date', async ({ world }) => {
  await syncHourly(world, 12);
  const odd = new Map<unknown, unknown>([
    [3, 0],
    [4, 'four'],
    [5, null],
  ]);
  await answering(world, ({ body }, { path }) => {
    for (const one of path === '/v1/reviews' ? (body as { id: unknown }[]) : []) {
      if (odd.has(one.id)) one.id = odd.get(one.id);
    }
  });
  await world.warehouse('delete from warehouse.reviews where id in (3, 4, 5)');
  const { status, stdout } = await world.cli('verify', 'reviews', '--json');
  expect(status).toBe(1);
  const { differing, differences } = JSON.parse(stdout);
  expect(differing).toBe(3);
  expect(differences.map(({ id, kind }: { id: null; kind: string }) => [id, kind])).toEqual(
    Array(3).fill([null, 'refused']),
  );
  expect(differences).not.toContainEqual(expect.objectContaining({ day: null }));
  const verify = (...more: string[]) => world.cli('verify', 'reviews', ...more);
  const unrepairable = expect.stringMatching(
    /^review without a usable id of \S+ cannot be held by the warehouse as it is.*\n3 reviews differ\. The warehouse cannot hold 3 of them/ms,
  );
  expect(await verify('--repair')).toMatchObject({ status: 1, stdout: unrepairable });
  await world.warehouse('delete from warehouse.reviews where id = 6');
  expect(await verify()).toMatchObject({ status: 1, stdout: expect.stringContaining('To correct: review-sync') });
  const rest = expect.stringContaining(
    'those that could be read and held are repaired now. The warehouse cannot hold 3',
  );
  expect(await verify('--repair')).toMatchObject({ status: 1, stdout: rest });
});

test('a review that a person discarded stays a difference, and verify --repair never says that it repaired it', async ({
  world,
}) => {
  await answering(world, (answer, { path }) => {
    const body = answer.body as { id: number; score: unknown } | { id: number; score: unknown }[];
    for (const one of path.startsWith('/v1/reviews') ? [body].flat() : []) if (one.id === 3) one.score = 'many';
  });
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(12));
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 1 });
  const repaired = { status: 1, stdout: expect.stringContaining('The warehouse cannot hold 1 of them') };
  expect(await world.cli('verify', 'reviews', '--repair')).toMatchObject(repaired);
  expect(await world.cli('dead-letters', 'discard', '1')).toMatchObject({ status: 0 });
  expect(await world.cli('verify', 'reviews', '--repair')).toMatchObject(repaired);
});

test('explain tells what the service shows, what the warehouse holds, and what differs', async ({ world }) => {
  await syncHourly(world, 20);
  const explain = (id: string) => world.cli('explain', 'review', id, '--json');
  const same = JSON.parse((await explain('5')).stdout);
  expect(same).toMatchObject({ service: { id: 5 }, warehouse: { id: 5 }, differences: [], windows: [{}] });
  await world.atService(
    `update reference_service.reviews set message = 'edited', updated_at = now() - interval '30 minutes' where id = 5`,
  );
  const { differences } = JSON.parse((await explain('5')).stdout);
  expect(differences).toEqual([{ id: 5, kind: 'stale', fields: ['message', 'updated_at'] }]);
  // Of one that is gone the windows are those of the dates that the warehouse holds.
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  await world.atService('delete from reference_service.reviews where id = 5');
  expect(JSON.parse((await explain('5')).stdout)).toMatchObject({
    windows: [{ axis: 'updated' }, { axis: 'created' }],
  });
  expect(JSON.parse((await explain('99')).stdout)).not.toHaveProperty('service');
  expect(await explain('x')).toMatchObject({ status: 2 });
});

test.for([-3, 3])(
  'a service whose reviews are dated %i hours from its clock loses nothing',
  async (hours, { world }) => {
    await syncHourly(world, 100);
    const write = (message: string) =>
      world.atService(
        `insert into reference_service.reviews (created_at, updated_at, message)
       select t, t, $1 from (select date_trunc('second', now() + make_interval(hours => $2)) as t) as now`,
        [message, hours],
      );
    for (const message of ['one', 'two', 'three']) {
      await write(message);
      expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
      expect(await world.warehouse('select from warehouse.reviews where message = $1', [message])).toHaveLength(1);
    }
  },
);

test('a zone that is not the service’s is reported, nothing is called complete, and the right zone reads all of it', async ({
  openWorld,
}) => {
  const world = await openWorld({ environment: { REVIEW_API_TIME_ZONE: 'America/New_York' } });
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(300));
  expect(await world.cli('sync', 'reviews')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('REVIEW_API_TIME_ZONE'),
  });
  expect(await world.warehouse('select from sync.export_windows')).toEqual([]);
  const environment = { ...world.environment, REVIEW_API_TIME_ZONE: 'Asia/Seoul' };
  expect(await runCli(['sync', 'reviews'], environment)).toMatchObject({ status: 0 });
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
  expect(await world.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 300 }]);
});

test('the newest review is deleted just before its second is asked for: the run is done, and blames no zone', async ({
  world,
}) => {
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(3));
  const proxy = await world.through(startRuleProxy);
  proxy.use(async ({ path, form }) => {
    if (path === '/v1/reviews' && !form.has('date_order_desc'))
      await world.atService('delete from reference_service.reviews where id = 3');
    return 'pass' as const;
  });
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done', counts: { inserted: 2 } });
});

test('a first sync of a service without reviews does not make the next miss what is dated before it', async ({
  world,
}) => {
  await syncHourly(world, 0);
  const empty = await world.warehouse('select from sync.settings where reviews_cursor is not null');
  expect(empty).toHaveLength(1);
  // Its dates are two hours behind, and the first sync saw none of them.
  await world.atService(
    `insert into reference_service.reviews (created_at, updated_at, message)
     select t, t, 'first' from (select now() - interval '2 hours' as t) as ago`,
  );
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
  expect(await world.warehouse('select from warehouse.reviews')).toHaveLength(1);
});

test('a review dated in the year 1 or 9999 is a dead letter, costs three requests a window at the most, and stops nothing', async ({
  openWorld,
}) => {
  const world = await openWorld({ environment: { REVIEW_YEARS_FROM: '2020' } });
  await syncHourly(world, 100);
  await world.atService(
    `insert into reference_service.reviews (created_at, updated_at, message)
     values ('9999-12-31', now(), 'future'), ('0001-01-01', now(), 'past'), (now(), now(), 'new')`,
  );
  const all = await world.cli('sync', 'reviews');
  expect(all).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('dead-letters'),
    stderr: expect.not.stringContaining('out of range'),
  });
  expect(await world.warehouse('select from sync.settings where reviews_cursor is not null')).toHaveLength(1);
  const deadLetters = await world.warehouse<{ reason: string }>(
    `select reason from sync.dead_letters where kind = 'review' and resolved_at is null order by reason`,
  );
  expect(deadLetters).toHaveLength(2);
  expect(deadLetters[0]?.reason).toContain('found 0001-01-01');
  expect(deadLetters[1]?.reason).toContain('found 9999-12-31');
  expect(
    await world.warehouse(`select message from warehouse.reviews where message in ('new', 'future', 'past')`),
  ).toEqual([{ message: 'new' }]);
  // 44 days a window from REVIEW_YEARS_FROM on, once; then a reconcile reads the newest days.
  const requests = () => world.service.requests()['GET /v1/reviews'] ?? 0;
  const windows = Math.ceil((Date.now() - Date.parse('2020-01-01')) / (44 * day));
  for (const atMost of [3 * windows + 20, 20]) {
    const before = requests();
    await reconcile(world);
    expect(requests() - before).toBeLessThan(atMost);
  }
  const doctor = await world.cli('doctor');
  expect(doctor.stdout).toContain('names a review of 0001-01-01');
  expect(doctor.stdout).toContain('names a review of 9999-12-31');
  const status = await world.cli('status');
  expect(status.stdout.split('\n').length).toBeLessThan(500);
});
