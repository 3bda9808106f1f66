import { expect, test } from 'vitest';
import { startWebhookApplier } from '../../src/background/apply-webhooks.ts';
import { addressOf, runCli, startHere } from '../harness/cli.ts';
import { startRuleProxy } from '../harness/proxy.ts';
import { openWorld, until, type World } from '../harness/world.ts';

const secret = 'a-secret-part-of-the-path';

const addReview = async (world: World) => {
  const [row] = await world.atService<{ id: number }>(
    `insert into reference_service.reviews (message, created_at, updated_at) values ('r', now(), now()) returning id::integer as id`,
  );
  return row?.id ?? 0;
};

type Waiting = { attempts: number; isFar: boolean };
const waiting = (world: World) =>
  world.warehouse<Waiting>(`select attempts, due_at > now() + interval '1 hour' as "isFar" from sync.changed_reviews`);

test('a review whose request never gets a response holds back no other, waits longer each time, and is left to the runs in the end', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const [bad, good, later] = [await addReview(world), await addReview(world), await addReview(world)];
  const proxy = await world.through(startRuleProxy);
  let release = () => {};
  let hang: Promise<'lose'> | undefined = new Promise((resolve) => {
    release = () => resolve('lose');
  });
  proxy.use(({ path }) => (path === `/v1/reviews/${bad}` ? (hang ?? 'lose') : 'pass'));
  const environment = { ...world.environment, LOG_LEVEL: 'info', PORT: '0' };
  const serve = startHere(['serve'], { ...environment, WEBHOOK_SECRET: secret });
  const url = await addressOf(serve);
  const post = (id: number) =>
    fetch(`${url}/webhooks/${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ brand_id: 1, reviews: [{ id }] }]),
    });
  const held = async (id: number) =>
    (await world.warehouse('select from warehouse.reviews where id = $1', [id])).length;

  await post(bad);
  await until(async () => proxy.requests.some(({ path }) => path === `/v1/reviews/${bad}`));
  // Where this process is killed now, another one takes it within minutes.
  expect(await waiting(world)).toMatchObject([{ isFar: false }]);
  await post(good);
  // The request for the bad review is still under way.
  await until(async () => (await held(good)) === 1);
  hang = undefined;
  release();
  const failed = (attempts: number) => serve.says(`"review":"${bad}","attempts":${attempts},`);
  await failed(1);
  expect(await waiting(world)).toEqual([{ attempts: 1, isFar: false }]);
  expect((await runCli(['status'], environment)).stdout).toMatch(/Webhooks: .*, 1 waiting since/);
  // Hours later.
  await world.warehouse('update sync.changed_reviews set attempts = 7, due_at = now()');
  await failed(8);
  expect(await waiting(world)).toEqual([{ attempts: 8, isFar: true }]);
  await post(later);
  await until(async () => (await held(later)) === 1);
  // Hours later again.
  await world.warehouse('update sync.changed_reviews set attempts = 8, due_at = now()');
  await until(async () => (await waiting(world)).length === 0, 40);
  expect(await world.warehouse('select from sync.dead_letters')).toEqual([]);
  // Webhooks use two of the requests that the client may have in flight.
  let [running, most, pair] = [0, 0, Promise.withResolvers<void>()];
  // A request is held until a second one is there, and both for as long as others would have come beside them.
  proxy.use(async (): Promise<'pass'> => {
    running += 1;
    most = Math.max(most, running);
    const { promise, resolve } = pair;
    if (running === 1) await promise;
    else {
      await waiting(world);
      resolve();
      pair = Promise.withResolvers<void>();
    }
    running -= 1;
    return 'pass';
  });
  const many = Array.from({ length: 8 }, () => addReview(world));
  for (const id of await Promise.all(many)) await post(id);
  await until(async () => (await waiting(world)).length === 0);
  expect(most).toBe(2);
  serve.kill('SIGTERM');
  await serve.ended;
});

test('a process that is to end reads what it has begun before it ends', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const proxy = await world.through(startRuleProxy);
  const applier = startWebhookApplier(await world.openApp());
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  proxy.use(async () => {
    asked.resolve();
    await answered.promise;
    return 'pass' as const;
  });
  await world.warehouse('insert into sync.changed_reviews (review_id) values ($1)', [await addReview(world)]);
  await asked.promise;
  const closed = applier.close().then(() => 'closed');
  expect(await Promise.race([closed, waiting(world)])).toMatchObject([{ attempts: 1 }]);
  answered.resolve();
  await closed;
  expect(await waiting(world)).toEqual([]);
  expect(await world.warehouse('select from warehouse.reviews')).toHaveLength(1);
});

test('a process reads at most twenty changed reviews a second, however fast the service is', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const proxy = await world.through(startRuleProxy);
  const ids = await Promise.all(Array.from({ length: 20 }, () => addReview(world)));
  await world.warehouse('insert into sync.changed_reviews (review_id) select unnest($1::bigint[])', [ids]);
  const atMs: number[] = [];
  proxy.use(({ path }) => {
    if (path.startsWith('/v1/reviews/')) atMs.push(performance.now());
    return 'pass';
  });
  const applier = startWebhookApplier(await world.openApp());
  await until(async () => (await waiting(world)).length === 0);
  await applier.close();
  expect(atMs).toHaveLength(20);
  // Two loops with 100 ms for each review; the first of them waits for a token.
  expect(Math.max(...atMs) - Math.min(...atMs)).toBeGreaterThan(750);
});
