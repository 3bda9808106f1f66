import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { runCli, startCli } from '../../harness/cli.ts';
import { createDatabase, query } from '../../harness/database.ts';
import { until } from '../../harness/world.ts';
import { runService, tokenOf } from './service.ts';
import { startReceiver } from './webhook-receiver.ts';

test('the command tells every --webhook of its --brand-id; killed with a delivery in the air, another start sends it again', async () => {
  const [first, second] = [await startReceiver(), await startReceiver()];
  const [databaseUrl, port] = [await createDatabase(), await freePort()];
  const places = ['--port', String(port), '--database-url', databaseUrl];
  const events = ['--webhook', first.url, '--webhook', second.url, '--brand-id', '7'];
  const cli = startCli(['reference-service', ...places, ...events], {});
  onTestFinished(() => cli.kill('SIGKILL'));
  await cli.says('listens on');
  second.answer = 'hang';
  const url = `http://127.0.0.1:${port}`;
  const post = await fetch(`${url}/v1/reviews?message=m&access_token=${await tokenOf(url)}`, { method: 'POST' });
  expect(post.status).toBe(201);
  await until(async () => first.received.length === 1 && second.received.length === 1);
  const body = [{ brand_id: 7, reviews: [{ id: 1, updated_at: expect.any(String) }] }];
  expect(first.received[0]?.body).toEqual(body);
  // The first receiver's answer is written down after it has come.
  await until(async () => (await query(databaseUrl, 'select from reference_service.webhook_events')).length === 1);
  cli.kill('SIGKILL');
  await cli.ended;

  second.answer = 200;
  const { service } = await runService({ databaseUrl });
  // As if the time in which the dead one could have been sending had passed.
  await query(databaseUrl, 'update reference_service.webhook_receivers set sending_until = clock_timestamp()');
  await service.webhooksIdle();
  expect([first.received.length, second.received.length]).toEqual([1, 2]);
  expect(second.received[1]?.body).toEqual(body);
});

test('a --webhook that is no address, or a --brand-id that is no whole number, is wrong usage', async () => {
  for (const [option, value] of [['--webhook', 'example.com'] as const, ['--brand-id', '1.5'] as const]) {
    const { status, stderr } = await runCli(['reference-service', option, value], {});
    expect([status, stderr]).toEqual([2, expect.stringContaining(option)]);
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
