import { expect, onTestFinished, test } from 'vitest';
import { startHere, until } from '../harness/cli.ts';
import { startProxy } from '../harness/proxy.ts';
import { noSchedules, openWorld, type World } from '../harness/world.ts';

type Reply = { status: number; headers: Record<string, string>; text: string };
const refusal: Reply = { status: 401, headers: { 'content-type': 'application/json' }, text: '{"error":"revoked"}' };

/** A service that knows one token a client: each that it gives out revokes the one before. `ban` refuses everything. */
async function oneToken(target: string) {
  let valid: string | undefined;
  const counts = { tokens: 0, refused: 0, banned: 0 };
  let isBanned = false;
  const proxy = await startProxy(target, async (call, passOn) => {
    if (isBanned) {
      counts.banned += 1;
      return { status: 429, headers: { 'content-type': 'text/html', 'retry-after': '3600' }, text: '<p>Slow down' };
    }
    if (call.path === '/oauth/token') {
      const reply = await passOn();
      valid = (JSON.parse(reply.text) as { access_token: string }).access_token;
      counts.tokens += 1;
      return reply;
    }
    if (call.form.get('access_token') === valid) return passOn();
    counts.refused += 1;
    return refusal;
  });
  const revoke = () => {
    valid = undefined;
  };
  const ban = (isOn: boolean) => {
    isBanned = isOn;
  };
  return { ...proxy, counts, revoke, ban };
}

async function openOneToken(): Promise<{ world: World; service: Awaited<ReturnType<typeof oneToken>> }> {
  const world = await openWorld({
    shop: 'sample',
    service: { latencyMs: 20 },
    environment: { ...noSchedules, LOG_LEVEL: 'info' },
  });
  onTestFinished(() => world[Symbol.asyncDispose]());
  return { world, service: await world.through(oneToken) };
}

test('three commands share the one token of a client, also when it is revoked', async () => {
  const { world, service } = await openOneToken();
  const running = ['orders', 'reviews', 'catalog'].map((what) => world.cli('sync', what));
  await until(async () => service.counts.tokens > 0);
  await until(async () => (await world.atService('select from reference_service.orders')).length > 5);
  service.revoke();
  expect(await Promise.all(running)).toMatchObject(running.map(() => ({ status: 0 })));
  // Lines whose product became known meanwhile.
  await world.run('sync-orders');
  const verified = await world.cli('verify orders');
  expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining('0 different, 0 not compared')]);
  expect(service.counts.tokens).toBe(2);
  expect(service.counts.refused).toBeLessThanOrEqual(3 * 8);
});

test('a ban of one command holds all others, says until when, and is no failure', async () => {
  const { world, service } = await openOneToken();
  const first = startHere(['sync', 'orders'], world.environment);
  await until(async () => (await world.atService('select from reference_service.orders')).length > 5);
  service.ban(true);
  await first.says('waiting until');
  const isHeld = 'select from sync.service_session where held_until > now()';
  await until(async () => (await world.warehouse(isHeld)).length === 1);
  const held = /no request is sent before .* UTC: the review service asked for fewer requests/;
  const { stdout } = await world.says('status', held);
  // By now the requests are answered that the first process had in flight when the ban began.
  const before = service.counts.banned;
  const second = startHere(['sync', 'reviews'], world.environment);
  await second.says('planning');
  await world.warehouse(`update sync.service_session set refused_at = array[now(), now(), now(), now(), now()]`);
  const revoked =
    /the token was revoked 5 times in an hour: another program uses this client id.*\n.*give each program/;
  await world.says('doctor', /no request may be sent before/, revoked);
  expect(service.counts.banned).toBe(before);
  // A person may end the hold by hand.
  service.ban(false);
  await world.warehouse(/update sync\..*/.exec(stdout)?.[0] ?? 'no statement');
  expect(await Promise.all([first.ended, second.ended])).toMatchObject([{ status: 0 }, { status: 0 }]);
  expect(service.counts.tokens).toBe(1);
});
