import { expect, vi } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { startWebhookApplier } from '../../src/background/apply-webhooks.ts';
import { addressOf, startHere, until } from '../harness/cli.ts';
import { valuesOf } from '../harness/database.ts';
import { type Fate, startRuleProxy } from '../harness/proxy.ts';
import { daysAgo, openServe, postWebhook, reviewAt, worldTest as test, type World } from '../harness/world.ts';

const secret = 'a-secret-part-of-the-path';

const openReceiver = () => openServe({ WEBHOOK_SECRET: secret });

const applied = (world: World) =>
  until(async () => (await world.warehouse('select from sync.changed_reviews')).length === 0);

/** Adds reviews at the service; gives what an event would tell of them. */
const addReviews = (world: World, count: number) =>
  world.atService<{ id: number; updated_at: Date }>(
    `insert into reference_service.reviews (message, score, user_code, user_id, created_at, updated_at, comments)
     select 'r' || n, 5, 'kim', 77, now() - interval '1 day', now() - n * interval '1 second', '[{"id": 1, "message": "c"}]'
     from generate_series(1, $1) n returning id::integer as id, updated_at`,
    [count],
  );

const addIds = async (world: World, count: number) => (await addReviews(world, count)).map(({ id }) => id);
/** An event of these reviews. */
const eventOf = (reviews: readonly object[]) => [{ brand_id: 1, reviews }];

const held = async (world: World) => (await world.warehouse('select from warehouse.reviews')).length;
const isHeld = async (world: World, id: number) =>
  (await world.warehouse('select from warehouse.reviews where id = $1', [id])).length === 1;

const requests = (world: World) =>
  Object.entries(world.service.requests()).reduce((sum, [route, n]) => sum + (route.includes('/reviews') ? n : 0), 0);

test('a changed review is in the warehouse soon, and teaches no product link', async () => {
  await using serve = await openReceiver();
  const { world } = serve;
  expect(await serve.post(eventOf(await addReviews(world, 1)))).toMatchObject({ status: 200 });
  await until(async () => (await held(world)) === 1);
  // Read by its id, it is no difference to verify.
  await world.ends(0, 'verify reviews');

  // Many events of the same reviews, twice and in any order, cost at most one request for each review and webhook.
  const flood = Array(10).fill(await addReviews(world, 60));
  let before = requests(world);
  for (const reviews of [flood.flat(), flood.flat().reverse()]) await serve.post(eventOf(reviews));
  await applied(world);
  expect(await held(world)).toBe(61);
  expect(requests(world) - before).toBeLessThanOrEqual(2 * 60);

  // A run that reads a review unasked learns the link. One that a webhook names does not.
  await world.atService('delete from reference_service.reviews');
  await world.warehouse(`delete from warehouse.reviews;
    insert into sync.product_links (product_code, product_id) values ('OLD', 0)`);
  await world.seedReviews([1, 2, 3].map((days) => reviewAt(daysAgo(days), { product_code: 'OLD' })));
  const [product] = await world.atService(`select id::integer from reference_service.products where code = 'OLD'`);
  const [shown = {}] = await world.atService('select max(id)::integer as id from reference_service.reviews');
  const links = async () =>
    valuesOf(await world.warehouse(`select product_code || ' ' || product_id from sync.product_links`));
  // The service does not have the second one.
  await serve.post(eventOf([shown, { id: 999_999 }]));
  await applied(world);
  expect([await held(world), await links()]).toEqual([1, ['OLD 0']]);
  await world.done('sync-reviews');
  expect(await links()).toEqual([`OLD ${product?.id}`]);
  // If a product changed, its newest review is read, and its code is not learned from that.
  await world.atService(`update reference_service.products set code = 'NEW' where code = 'OLD'`);
  before = requests(world);
  await serve.post([{ brand_id: 1, products: [product, { id: 999_999 }] }]);
  await applied(world);
  expect(requests(world) - before).toBe(1);
  const codes = await world.warehouse('select product_code from warehouse.reviews order by created_at desc');
  expect(valuesOf(codes)).toEqual(['NEW', 'OLD', 'OLD']);
  expect(await links()).toEqual([`OLD ${product?.id}`]);
});

test('what was answered 200 is in the warehouse, and is applied by a worker, too', async ({ world }) => {
  // A service that is down: this process can apply nothing.
  const down = { REVIEW_API_BASE_URL: 'http://127.0.0.1:9' };
  const environment = { ...world.environment, ...down, LOG_LEVEL: 'info', PORT: '0', WEBHOOK_SECRET: secret };
  const serve = startHere(['serve'], environment);
  const url = await addressOf(serve);
  expect(await postWebhook(url, secret, eventOf(await addReviews(world, 30)))).toMatchObject({ status: 200 });
  // Another session sees it: no end of the process, kill -9 included, takes it away.
  expect(await waiting(world)).toHaveLength(30);
  serve.kill('SIGTERM');
  await serve.ended;
  await world.warehouse(`update sync.changed_reviews set due_at = now()`);
  const worker = startHere(['worker'], { ...world.environment, LOG_LEVEL: 'info' });
  await applied(world);
  expect(await held(world)).toBe(30);
  worker.kill('SIGTERM');
  expect((await worker.ended).status).toBe(0);
});

test('summaries of two brands are a dead letter until one is named ours', async () => {
  await using serve = await openReceiver();
  const { world } = serve;
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('1234', 5)`);
  const product = { id: 7, code: 1234, reviews_count: 3, score: 8 / 3, meta_reviews_count: 4, meta_score: 4.125 };
  await serve.post([2, 1].map((brand_id) => ({ brand_id, products: [{ ...product, reviews_count: brand_id }] })));
  await applied(world);
  expect(await world.warehouse('select from warehouse.product_ratings')).toEqual([]);
  await world.says('dead-letters', 'webhooks of several brands come here (1, 2): set WEBHOOK_BRAND_IDS');
  await world.warehouse(`update sync.dead_letters set first_failed_at = '2026-01-01T00:00:00Z'`);
  await world.ends(1, 'dead-letters retry');
  world.environment.WEBHOOK_BRAND_IDS = '2';
  await world.ends(0, 'dead-letters retry');
  const received_at = new Date('2026-01-01T00:00:00Z');
  const rating = { product_id: '7', product_code: '1234', reviews_count: 2, meta_reviews_count: 4, received_at };
  expect(await world.warehouse('select * from warehouse.product_ratings')).toMatchObject([rating]);
  // In bi, averages of the service have as many digits as ours.
  const shown =
    'select service_score as score, service_meta_score as meta from bi.product_ratings where product_id = 7';
  expect(await world.warehouse(shown)).toEqual([{ score: '2.67', meta: '4.13' }]);
  expect(await world.warehouse('select product_id::integer as id from sync.product_links')).toEqual([{ id: 5 }]);
});

test('while the warehouse does not answer a webhook is 503, so that it is sent again', async () => {
  await using serve = await openReceiver();
  const { world } = serve;
  const database = new URL(world.warehouseUrl).pathname.slice(1);
  const body = eventOf(await addReviews(world, 1));
  vi.useFakeTimers({ toFake: ['performance'] });
  expect((await fetch(`${serve.url}/readyz`)).status).toBe(200);
  await world.atService(`alter database ${database} with allow_connections false`);
  await world.atService('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
  const refused = await serve.post(body);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  vi.advanceTimersByTime(1000);
  expect((await fetch(`${serve.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${serve.url}/healthz`)).status).toBe(200);
  vi.useRealTimers();
  await world.atService(`alter database ${database} with allow_connections true`);
  expect(await serve.post(body)).toMatchObject({ status: 200 });
  await applied(world);
  expect(await held(world)).toBe(1);
});

type Waiting = { attempts: number; isFar: boolean };
const waiting = (world: World) =>
  world.warehouse<Waiting>(`select attempts, due_at > now() + interval '1 hour' as "isFar" from sync.changed_reviews`);

test('a review that cannot be read holds back no other, and is left to the runs', async ({ world }) => {
  const [bad = 0, good = 0, later = 0] = await addIds(world, 3);
  const proxy = await world.through(startRuleProxy);
  // At first no response, then one without a review.
  const hang = Promise.withResolvers<'lose'>();
  let fate: Fate | Promise<Fate> = hang.promise;
  proxy.use(({ path }) => (path === `/v1/reviews/${bad}` ? fate : 'pass'));
  const environment = { ...world.environment, LOG_LEVEL: 'info', PORT: '0' };
  const serve = startHere(['serve'], { ...environment, WEBHOOK_SECRET: secret });
  const url = await addressOf(serve);
  const post = (id: number) => postWebhook(url, secret, eventOf([{ id }]));

  await post(bad);
  await until(async () => proxy.requests.some(({ path }) => path === `/v1/reviews/${bad}`));
  // If this process is killed now, another one takes it within minutes.
  expect(await waiting(world)).toMatchObject([{ isFar: false }]);
  await post(good);
  await post(0);
  // The request for the bad review is still under way.
  await until(() => isHeld(world, good));
  fate = { status: 200, body: '["no review"]' };
  hang.resolve('lose');
  const failed = (attempts: number) => serve.says(`"review":"${bad}","attempts":${attempts},`);
  await failed(1);
  expect(await waiting(world)).toEqual([{ attempts: 1, isFar: false }]);
  await world.says('status', /Webhooks: .*, 1 waiting\./);
  await world.warehouse('update sync.changed_reviews set attempts = 7, due_at = now()');
  await failed(8);
  expect(await waiting(world)).toEqual([{ attempts: 8, isFar: true }]);
  await post(later);
  await until(() => isHeld(world, later));
  await world.warehouse('update sync.changed_reviews set attempts = 8, due_at = now()');
  await until(async () => (await waiting(world)).length === 0, 40);
  expect(await world.warehouse('select kind, key from sync.dead_letters')).toMatchObject([{ kind: 'webhook' }]);
});

test('a process ends what it began, and reads two at a time, twenty a second at most', async ({ world }) => {
  const proxy = await world.through(startRuleProxy);
  const note = 'insert into sync.changed_reviews (review_id) select unnest($1::bigint[])';
  await world.warehouse(note, [await addIds(world, 22)]);
  const answered = Promise.withResolvers<void>();
  let [running, most] = [0, 0];
  const atMs: number[] = [];
  proxy.use(async ({ path }) => {
    if (path.startsWith('/v1/reviews/')) atMs.push(performance.now());
    running += 1;
    most = Math.max(most, running);
    await answered.promise;
    running -= 1;
    return 'pass' as const;
  });
  const applier = startWebhookApplier(await world.openApp());
  await until(async () => running >= 2);
  // A third one would begin within 50 ms.
  const [later] = valuesOf(await world.warehouse(`select now() + interval '0.5 seconds'`));
  await until(async () => (await world.warehouse('select where clock_timestamp() > $1', [later])).length === 1);
  const closed = applier.close().then(() => 'closed');
  expect(await Promise.race([closed, waiting(world)])).toHaveLength(22);
  answered.resolve();
  await closed;
  expect([await held(world), await waiting(world)]).toMatchObject([2, { length: 20 }]);

  const app = await world.openApp();
  const applyAll = async (own: App) => {
    const one = startWebhookApplier(own);
    await applied(world);
    await one.close();
  };
  await applyAll(app);
  expect([most, atMs.length]).toEqual([2, 22]);
  // 50 ms from one review to the next; the first waits for a token.
  expect(Math.max(...atMs) - Math.min(...atMs.slice(2))).toBeGreaterThan(750);

  // A quarter of REVIEW_API_REQUESTS_PER_SECOND is less: 500 ms.
  atMs.length = 0;
  await world.warehouse(note, [await addIds(world, 8)]);
  await applyAll({ ...app, config: { ...app.config, api: { ...app.config.api, requestsPerSecond: 16 } } });
  expect(Math.max(...atMs) - Math.min(...atMs)).toBeGreaterThan(750);
});
