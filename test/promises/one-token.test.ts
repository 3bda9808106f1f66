import { expect } from 'vitest';
import { startHere, until } from '../harness/cli.ts';
import { startProxy } from '../harness/proxy.ts';
import { noSchedules, worldTest as test } from '../harness/world.ts';

/**
 * A service that counts the tokens it gives out. From the sixth order on, while it `isBanning`, it refuses everything.
 */
async function banning(target: string) {
  const service = { isBanning: false, tokens: 0, orders: 0, refused: 0 };
  const proxy = await startProxy(target, async (call, passOn) => {
    if (call.path === '/oauth/token') service.tokens += 1;
    if (call.path === '/v1/orders') {
      service.orders += 1;
      if (service.orders === 6) service.isBanning = true;
    }
    if (!service.isBanning) return passOn();
    service.refused += 1;
    return { status: 429, headers: { 'content-type': 'text/html', 'retry-after': '3600' }, text: '<p>Slow down' };
  });
  return Object.assign(service, proxy);
}

test('commands share one token; a ban holds all, says until when, and is no failure', async ({ openWorld }) => {
  const environment = { ...noSchedules, LOG_LEVEL: 'info' };
  const world = await openWorld({ shop: 'sample', service: { latencyMs: 20 }, environment });
  const service = await world.through(banning);
  const first = startHere(['sync', 'orders'], world.environment);
  await first.says('waiting until');
  const isHeld = 'select from sync.service_session where held_until > now()';
  await until(async () => (await world.warehouse(isHeld)).length === 1);
  const { stdout } = await world.says('status', /no request is sent before .* UTC: the review service asked for fewer/);
  // By now the requests are answered that the first process had in flight when the ban began.
  const before = service.refused;
  const second = startHere(['sync', 'reviews'], world.environment);
  await second.says('planning');
  await world.warehouse(`update sync.service_session set refused_at = array[now(), now(), now(), now(), now()]`);
  const revoked = /revoked 5 times in an hour: another program uses this client id.*\n.*give each program/;
  await world.says('doctor', 'no request may be sent before', revoked);
  expect(service.refused).toBe(before);
  // A person may end the hold by hand.
  service.isBanning = false;
  await world.warehouse(/update sync\..*/.exec(stdout)?.[0] ?? 'no statement');
  expect(await Promise.all([first.ended, second.ended])).toMatchObject([{ status: 0 }, { status: 0 }]);
  expect(service.tokens).toBe(1);
});
