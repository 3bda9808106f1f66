import { expect, test } from 'vitest';
import { runCli, startHere } from '../harness/cli.ts';
import { startRuleProxy } from '../harness/rule-proxy.ts';
import { openWorld, until, type World } from '../harness/world.ts';

const secret = 'a-secret-part-of-the-path';

const addReview = async (world: World) => {
  const [row] = await world.atService<{ id: number }>(
    `insert into reference_service.reviews (message, created_at, updated_at) values ('r', now(), now()) returning id::integer as id`,
  );
  return row?.id ?? 0;
};

type Inbox = { id: number; attempts: number; isFar: boolean; body: string; error: string | null };
const waiting = (world: World) =>
  world.warehouse<Inbox>(
    `select id::integer as id, attempts, due_at > now() + interval '100 seconds' as "isFar", body, last_error as error
     from sync.webhook_inbox where applied_at is null and body is not null`,
  );

test('a review whose request never gets a response holds back no other webhook, waits longer each time by itself, and is a dead letter in the end', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const [bad, good, later] = [await addReview(world), await addReview(world), await addReview(world)];
  const proxy = await startRuleProxy(world.serviceUrl);
  let release = () => {};
  let hang: Promise<'lose'> | undefined = new Promise((resolve) => {
    release = () => resolve('lose');
  });
  proxy.use(({ path }) => (path === `/v1/reviews/${bad}` ? (hang ?? 'lose') : 'pass'));
  const environment = { ...world.environment, REVIEW_API_BASE_URL: proxy.url, LOG_LEVEL: 'info', PORT: '0' };
  const serve = startHere(['serve'], { ...environment, WEBHOOK_SECRET: secret });
  await serve.says('listening');
  const url = /"url":"([^"]+)"/.exec(serve.saidSoFar())?.[1];
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
  await post(good);
  // The request for the bad review is still under way.
  await until(async () => (await held(good)) === 1);
  await until(async () => (await waiting(world)).length === 1);
  expect(await waiting(world)).toMatchObject([{ body: JSON.stringify([{ brand_id: 1, reviews: [{ id: bad }] }]) }]);

  hang = undefined;
  release();
  /** The webhook of the bad review after another attempt, which stores it as a new one. */
  const afterAttempt = (before: number) =>
    until(async () => (await waiting(world)).find(({ id, error }) => id !== before && error !== null), 40);
  const first = await afterAttempt(0);
  expect(first).toMatchObject({ isFar: false, error: expect.stringContaining(`/v1/reviews/${bad}`) });
  expect((await runCli(['status'], environment)).stdout).toMatch(/Webhooks: .*, 1 wait since .*\/v1\/reviews/);

  // A quarter of an hour later. Attempts of the first minutes may be under way.
  const due = async (attempts: number) => {
    const [row] = await until(async () => {
      const rows = await world.warehouse<{ id: number }>(
        `update sync.webhook_inbox set attempts = $1, due_at = now()
         where applied_at is null and due_at < now() + interval '280 seconds' and last_error is not null
         returning id::integer as id`,
        [attempts],
      );
      return rows.length > 0 && rows;
    }, 40);
    return row?.id ?? 0;
  };
  expect(await afterAttempt(await due(6))).toMatchObject({ attempts: 7, isFar: true });
  await post(later);
  await until(async () => (await held(later)) === 1);
  // Two hours later.
  await due(19);
  await until(async () => (await waiting(world)).length === 0, 40);
  expect(await world.warehouse('select kind, key from sync.dead_letters where resolved_at is null')).toEqual([
    { kind: 'review', key: String(bad) },
  ]);
  serve.kill('SIGTERM');
  await serve.ended;
  await proxy.close();
});
