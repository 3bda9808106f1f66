import { expect } from 'vitest';
import { readWindowStep } from '../../jobs/read-window.ts';
import { secondOf } from '../../src/base/time/span.ts';
import { valuesOf } from '../harness/database.ts';
import { type Fields, startRuleProxy } from '../harness/proxy.ts';
import { hourlyReviews, reviewAt, runOf, syncHourly, worldTest as test, type World } from '../harness/world.ts';

const day = 86_400_000;

const gone = async (world: World) =>
  valuesOf(await world.warehouse('select id::integer from warehouse.reviews where deleted_at is not null order by id'));
const messages = async (world: World, which = 'true') =>
  valuesOf(await world.warehouse(`select message from warehouse.reviews where ${which} order by id`));
const requested = (world: World) => world.service.requests()['GET /v1/reviews'] ?? 0;
const reconcile = (world: World) => world.run('reconcile-reviews');

test('verify finds what is missing, stale, extra or restored, and repairs it', async ({ world }) => {
  await syncHourly(world, 150);
  await world.ends(0, 'verify reviews', 'Service and warehouse hold the same reviews.');
  await world.warehouse(`delete from warehouse.reviews where id in (3, 4);
    update warehouse.reviews set message = 'other', extra = '{}' where id = 5;
    update warehouse.reviews set tag_name = 'old' where id = 7`);
  // The newest one: what the service names and lists ends before it.
  await world.atService('delete from reference_service.reviews where id = 150');
  // A restored backup has older dates, and uses ids again.
  await world.atService(
    `update reference_service.reviews set message = 'restored', updated_at = updated_at - interval '1 day' where id = 6`,
  );
  await world.atService(`update reference_service.reviews set message = 'another', user_code = 'another',
    created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where id = 7`);
  const { differences } = (await world.json('verify reviews')) as { differences: { id: number; kind: string }[] };
  const kinds = ['150 extra', '3 missing', '4 missing', '5 stale', '6 reverted', '7 reverted'];
  expect(differences.map(({ id, kind }) => `${id} ${kind}`).sort()).toEqual(kinds);
  await world.ends(
    1,
    'verify reviews',
    /^review 5 of 20\d\d-\d\d-\d\d differs in message/m,
    /^review 6 of \S+ has an older updated_at at the service than in the warehouse, and differs in message/m,
  );
  const repaired = '6 reviews differ; those that could be read and held are repaired now.';
  await world.ends(0, 'verify reviews --repair', repaired);
  // Analysts see what was repaired.
  expect(await world.warehouse(`select sum(reviews)::integer as n from bi.reviews_by_day`)).toEqual([{ n: 149 }]);
  await world.ends(0, 'verify reviews');
  expect(await gone(world)).toEqual([150]);
  const seventh = 'select message, tag_name from warehouse.reviews where id = 7';
  expect(await world.warehouse(seventh)).toEqual([{ message: 'another', tag_name: null }]);

  // A repair of an old day, although the newest reviews of the warehouse are gone too.
  await world.atService('delete from reference_service.reviews where id in (9, 147, 148, 149)');
  const dayOf9 = `select (created_at at time zone 'Asia/Seoul')::date::text from warehouse.reviews where id = 9`;
  const [its] = valuesOf(await world.warehouse(dayOf9));
  await world.ends(0, `verify reviews --from ${its} --to ${its} --repair`);
  expect(await gone(world)).toEqual([9, 150]);
});

test('the views of bi follow a run of more than a minute', async ({ world }) => {
  const [review = reviewAt(0)] = hourlyReviews(1);
  await world.seedReviews([review]);
  const app = await world.openApp();
  const window = { axis: 'created', span: { start: secondOf(review.created_at), end: secondOf(new Date()) } } as const;
  const counted: unknown[] = [];
  for (const seconds of [55, 61]) {
    const run = runOf('backfill-reviews', { startedAt: new Date(Date.now() - seconds * 1000) });
    await readWindowStep.run(app, window, { run, signal: app.abort.signal });
    counted.push(...valuesOf(await world.warehouse('select sum(reviews)::integer from bi.reviews_by_day')));
  }
  expect(counted).toEqual([null, 1]);
});

test('verify never offers to repair, or says it did, what the warehouse cannot hold', async ({ world }) => {
  const odd: Record<string, unknown> = { 3: 0, 4: 'four', 5: null };
  await world.changing({
    answer({ body }, { path }) {
      if (!path.startsWith('/v1/reviews')) return;
      for (const one of [body].flat() as Fields[]) {
        if (one.id === 2) one.likes_count = 'many';
        if (String(one.id) in odd) one.id = odd[String(one.id)];
      }
    },
  });
  await world.seedReviews(hourlyReviews(12));
  await world.ends(1, 'sync reviews');
  // Each review whose id cannot be held counts, on the day of its date.
  const refused = [null, null, null, 2].map((id) => ({ id, kind: 'refused', day: expect.any(String) }));
  const found = await world.json('verify reviews');
  const byId = (found.differences as { id: number | null }[]).toSorted((a, b) => Number(a.id) - Number(b.id));
  expect([found.differing, byId]).toMatchObject([4, refused]);
  const odd4 =
    /^review without a usable id of \S+ cannot be held .*\n4 reviews differ\. The warehouse cannot hold 4 of them/ms;
  for (const command of ['verify reviews', 'verify reviews --repair']) await world.ends(1, command, odd4);
  await world.warehouse('delete from warehouse.reviews where id = 6');
  const rest = 'those that could be read and held are repaired now. The warehouse cannot hold 4';
  await world.ends(1, 'verify reviews --repair', rest);
});

test('explain tells what the service shows, what the warehouse holds, and what differs', async ({ world }) => {
  await syncHourly(world, 20);
  const explain = async (id: string) => await world.json('explain review', id);
  const same = { service: { id: 5 }, warehouse: { id: 5 }, differences: [], windows: [{}] };
  expect(await explain('5')).toMatchObject(same);
  await world.atService(
    `update reference_service.reviews set message = 'edited', updated_at = now() - interval '30 minutes' where id = 5`,
  );
  const differences = [{ id: 5, kind: 'stale', fields: ['message', 'updated_at'] }];
  expect(await explain('5')).toMatchObject({ differences });
  // If a review is gone, the windows are those of the dates that the warehouse holds.
  await world.done('sync-reviews');
  await world.atService('delete from reference_service.reviews where id = 5');
  expect(await explain('5')).toMatchObject({ windows: [{ axis: 'updated' }, { axis: 'created' }] });
  expect(await explain('99')).not.toHaveProperty('service');
  await world.ends(1, 'explain review 99');
  await world.ends(2, 'explain review x');
  (await world.through(startRuleProxy)).use(() => ({ status: 403 }));
  const shown = ['The service could not be asked about the review: ', 'review 6', 'Nothing was compared'];
  const { stdout } = await world.ends(1, 'explain review 6', ...shown);
  expect(stdout).not.toContain('should be marked deleted');
});

test('a zone that is not the service’s is reported, and the right one reads all of it', async ({ openWorld }) => {
  const world = await openWorld({ environment: { REVIEW_API_TIME_ZONE: 'America/New_York' } });
  await world.seedReviews(hourlyReviews(60));
  await world.ends(1, 'sync reviews', 'REVIEW_API_TIME_ZONE');
  expect(await world.warehouse('select from sync.export_windows')).toEqual([]);
  world.environment.REVIEW_API_TIME_ZONE = 'Asia/Seoul';
  await world.done('sync-reviews');
  expect(await world.warehouse('select from sync.open_gaps')).toEqual([]);
  expect(await messages(world)).toHaveLength(60);
});

test('a review dated in the year 1 or 9999 is a dead letter, and costs little', async ({ openWorld }) => {
  const world = await openWorld({ environment: { REVIEW_YEARS_FROM: '2020' } });
  await syncHourly(world, 10);
  await world.atService(
    `insert into reference_service.reviews (created_at, updated_at, message)
     values ('9999-12-31', now(), 'future'), ('0001-01-01', now(), 'past'), (now(), now(), 'new')`,
  );
  const { stderr } = await world.ends(1, 'sync reviews', 'dead-letters');
  expect(stderr).not.toContain('out of range');
  const open = `select reason from sync.dead_letters where kind = 'review' and resolved_at is null order by reason`;
  const found = ['0001-01-01', '9999-12-31'].map((at) => expect.stringContaining(`found ${at}`));
  expect(valuesOf(await world.warehouse(open))).toEqual(found);
  expect(await messages(world, `message in ('new', 'future', 'past')`)).toEqual(['new']);
  // 44 days a window from REVIEW_YEARS_FROM on, four requests each, once; then a reconcile reads the newest days.
  const windows = Math.ceil((Date.now() - Date.parse('2020-01-01')) / (44 * day));
  for (const atMost of [4 * windows + 20, 20]) {
    const before = requested(world);
    await reconcile(world);
    expect(requested(world) - before).toBeLessThan(atMost);
  }
});
