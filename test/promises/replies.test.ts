import { expect } from 'vitest';
import { markDeleted } from '../../src/warehouse/reviews/absent-reviews.ts';
import { valuesOf } from '../harness/database.ts';
import { all, type Fields, inAnswers, inLists } from '../harness/proxy.ts';
import { hourlyReviews, openWorld, testIn, type World } from '../harness/world.ts';

/** Worlds whose service has thirty reviews. */
const test = testIn(async (options) => {
  const world = await openWorld(options);
  await world.seedReviews(hourlyReviews(30));
  return world;
});

const replies = `
  select review_id::integer as review, position, replied_at as at, is_by_shop as "isByShop" from bi.replies
  where review_id = any (array[1, 2]) order by 1, 2`;

/** Gives a review comments, and moves its date, by which `sync reviews` finds it. */
const comment = (world: World, id: number, comments: unknown[]) =>
  world.atService(
    `update reference_service.reviews set comments = '${JSON.stringify(comments)}', updated_at = now() where id = ${id}`,
  );
const asked = ({ service }: World) => service.requests()['GET /v1/reviews/:id'] ?? 0;
/** Then what was tried in vain is tried again. */
const tenMinutesPass = (world: World) =>
  world.warehouse(`update sync.comments_due set tried_at = tried_at - interval '10 minutes'`);

test('a review whose number of comments moved is read by its id, once, twice if short', async ({ world }) => {
  // The review read by its id shows fewer comments than the lists count, as if the service hid some.
  await world.changing(
    inLists((one) => one.id === 1 && Object.assign(one, { comments_count: Number(one.comments_count) + 1 })),
  );
  for (let run = 1; run <= 3; run += 1) {
    await world.done('sync-reviews');
    await tenMinutesPass(world);
  }
  expect(asked(world)).toBe(2);
  const at = '2026-03-01T09:00:00.250+09:00';
  const noDates = ['2026-02-30T00:00:00Z', '10:00:00', '10:00:00+09:00', '300000-01-01'];
  await comment(world, 1, [
    { id: 7, message: 'Sorry!', is_admin: true, created_at: at },
    { id: 8, message: 'Thanks', author_type: 'customer', created_at: '2026-03-02 08:00:00' },
    ...['no object', ...noDates.map((created_at) => ({ created_at }))],
  ]);
  const many = Array.from({ length: 5000 }, (_, n) => ({ id: n, message: 'x'.repeat(100) }));
  await comment(world, 2, many);
  await world.says('sync reviews', /2 comments|comments +2/);
  const found = await world.warehouse(replies);
  expect(found.slice(0, 7)).toEqual([
    { review: 1, position: 1, at: new Date('2026-03-01T00:00:00Z'), isByShop: true },
    { review: 1, position: 2, at: new Date('2026-03-01T23:00:00Z'), isByShop: false },
    ...[3, 4, 5, 6, 7].map((position) => ({ review: 1, position, at: null, isByShop: null })),
  ]);
  expect(found).toHaveLength(5007);
  expect(asked(world)).toBe(4);
  const text = `select comment ->> 'message' from warehouse.review_comments where review_id = 1 and id = '7'`;
  expect(valuesOf(await world.warehouse(text))).toEqual(['Sorry!']);

  // They vanish, and nothing else is asked for.
  await tenMinutesPass(world);
  await comment(world, 1, []);
  await comment(world, 2, []);
  await world.done('sync-reviews');
  await world.done('sync-reviews');
  expect(await world.warehouse(replies)).toEqual([]);
  expect(asked(world)).toBe(6);
});

test('a service that shows no comments costs five requests a run, until it does', async ({ world }) => {
  await world.run('sync-reviews');
  const before = asked(world);
  world.service.hideFields(['comments']);
  await world.atService(`update reference_service.reviews set comments = '[{"id": 1}, {"id": 2}]', updated_at = now()`);
  await world.done('sync-reviews');
  expect(asked(world)).toBe(before + 5);
  const n = (await world.warehouse('select from warehouse.reviews')).length;
  expect(n).toBeGreaterThan(20);

  world.service.hideFields([]);
  // Those that failed wait for ten minutes.
  await world.done('sync-reviews');
  expect(asked(world)).toBe(before + n);
  await tenMinutesPass(world);
  await world.done('sync-reviews');
  expect(await world.warehouse('select from bi.replies')).toHaveLength(2 * n);
  expect(await world.warehouse('select from sync.comments_due')).toEqual([]);
});

test('the comments of a review that is gone, or was forgotten, are asked for no more', async ({ world }) => {
  await world.run('sync-reviews');
  const due = async () =>
    valuesOf(await world.warehouse('select review_id::integer from sync.comments_due order by 1'));
  world.service.hideFields(['comments']);
  for (const id of [1, 2, 3]) await comment(world, id, [{ id }]);
  await world.run('sync-reviews');
  expect(await due()).toEqual([1, 2, 3]);
  const { warehouse } = await world.openApp();
  await markDeleted(warehouse.db, [1], new Date());
  await world.atService(`update reference_service.reviews set user_code = 'minji', updated_at = now() where id = 2`);
  expect(await due()).toEqual([2, 3]);
  // The list still shows the first one.
  await world.run('sync-reviews');
  await world.ends(0, 'forget user minji --apply');
  expect(await due()).toEqual([1, 3]);

  world.service.hideFields([]);
  await tenMinutesPass(world);
  await world.run('sync-reviews');
  expect(await due()).toEqual([]);
  // The service still has the review of the customer that was forgotten: lists brought it back, and so its comments.
  const commented = 'select review_id::integer from warehouse.review_comments order by 1';
  expect(valuesOf(await world.warehouse(commented))).toEqual([1, 2, 3]);
});

test('the comments that are read bring nothing else that only the id of the review shows', async ({ world }) => {
  await world.changing(
    inAnswers('GET', all('reviews/1'), ({ body }) => Object.assign(body as Fields, { mood: 'fine' })),
  );
  await world.atService(`update reference_service.reviews set tag_name = 'gift'`);
  await comment(world, 1, [{ id: 7 }]);
  await world.run('sync-reviews');
  const commented = `select tag_name, extra from warehouse.reviews where extra ? 'comments'`;
  const extra = { comments: [{ id: 7 }], video_urls: [] };
  expect(await world.warehouse(commented)).toEqual([{ tag_name: null, extra }]);
  await world.ends(0, 'verify reviews');
});

test('comments are read later if the response is older, a 404, no list, short, or odd', async ({ world }) => {
  const wrong: Record<number, object> = {
    1: { updated_at: '2024-01-01T00:00:00+09:00', comments: [] },
    2: { score: 77 },
    4: { comments: null },
    5: { comments: {} },
    6: { comments: [] },
  };
  let areWrong = true;
  await world.changing({
    answer(answer, { path }) {
      const [, id] = /^\/v1\/reviews\/(\d+)$/.exec(path) ?? [];
      if (areWrong && id) Object.assign(answer.body as object, wrong[Number(id)]);
      if (areWrong && id === '3') answer.status = 404;
    },
  });
  await world.run('sync-reviews');
  for (const id of [1, 2, 3, 4, 5, 6]) await comment(world, id, [{ id }]);
  // The second is a dead letter, which the next list closes.
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete', reason: 'dead-letters' });
  areWrong = false;
  await tenMinutesPass(world);
  await world.done('sync-reviews');
  expect(await world.warehouse('select from bi.replies')).toHaveLength(6);
  // Null is the list of a review without any.
  Object.assign(wrong, { 5: { comments: null } });
  areWrong = true;
  await comment(world, 5, []);
  await world.done('sync-reviews');
  expect(await world.warehouse('select from bi.replies')).toHaveLength(5);
  expect(await world.warehouse('select from sync.comments_due')).toEqual([]);
});

test('migrate --promote makes a column of a field of extra, which later pages fill', async ({ world }) => {
  const tiers: Record<number, unknown> = { 1: 'gold', 2: 7, 3: "it's", 4: null };
  await world.changing(
    inLists((one) => Object.assign(one, { loyalty_tier: tiers[Number(one.id)], points: Number(one.id) * 1.5 })),
  );
  await world.run('sync-reviews');
  const before = world.service.requests()['GET /v1/reviews'];
  for (const field of ['loyalty_tier:text', 'points:bigint']) await world.ends(0, `migrate --promote extra.${field}`);
  const columns = 'select loyalty_tier as tier, points from bi.reviews where review_id < 5 order by review_id';
  expect(await world.warehouse(columns)).toEqual([
    { tier: 'gold', points: null },
    { tier: '7', points: '3' },
    { tier: "it's", points: null },
    { tier: null, points: '6' },
  ]);
  expect(world.service.requests()['GET /v1/reviews']).toBe(before);

  tiers[1] = 'silver';
  await world.atService('update reference_service.reviews set updated_at = now() where id = 1');
  await world.done('sync-reviews');
  expect((await world.warehouse(columns))[0]).toEqual({ tier: 'silver', points: null });
  await world.ends(0, 'verify reviews');
  await world.says('migrate --promote extra.loyalty_tier:text', 'was already');
  const wrong = ['points:text', 'score:text', 'brand:text', 'Score:text', 'Month:text', 'at:date', 'a"b:text'];
  for (const one of [...wrong.map((field) => `extra.${field}`), 'loyalty_tier:text', 'extra.f:__proto__'])
    await world.ends(2, `migrate --promote ${one}`);
});
