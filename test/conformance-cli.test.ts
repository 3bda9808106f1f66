import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startReceiver } from './conformance/receiver.ts';
import { query } from './harness/database.ts';
import { startChangingProxy } from './harness/proxy.ts';
import { seededService } from './sandbox/reference-service/conform.ts';

const main = join(import.meta.dirname, 'conformance', 'main.ts');
const demo = ['--client-id', 'demo', '--client-secret', 'demo'];

type Ended = { status: number | null; out: string; errors: string };

/** Runs the command; `onOutput` sees standard output as it grows. */
async function run(
  args: readonly string[],
  onOutput?: (out: string, stop: () => void) => void,
  environment: Record<string, string> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...environment } });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    onOutput?.(out, () => child.kill('SIGINT'));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [status] = await once(child, 'close');
  return { status, out, errors };
}

const ordersAt = (databaseUrl: string) => query(databaseUrl, 'select code from reference_service.orders');

test('without --yes it says what it would write, sends nothing, and exits 2', async () => {
  const { url, service } = await seededService();
  const { status, out, errors } = await run([url, ...demo]);
  expect([status, out]).toEqual([2, '']);
  expect(errors).toContain('It would write to the service');
  expect(service.requests()).toEqual({});
});

test('wrong usage, a wrong secret and an address where nobody is exit 2 and say why', async () => {
  const { url } = await seededService();
  for (const [args, why] of [
    [[], 'expected one address'],
    [[url, ...demo, '--yes', '--section', 'none'], 'there is no section none'],
    [
      [url, '--client-id', 'demo', '--client-secret', 'wrong', '--yes'],
      'no access_token: POST /oauth/token answered 401',
    ],
    [['http://127.0.0.1:1', ...demo, '--yes'], 'fetch failed'],
  ] as const) {
    const { status, errors } = await run(args);
    expect(status).toBe(2);
    expect(errors).toContain(why);
  }
});

test('it listens for webhooks, groups and sums up what it found, and exits 0', async () => {
  const free = await startReceiver(0, '127.0.0.1');
  await free.close();
  const { url, databaseUrl } = await seededService({ receivers: [`http://127.0.0.1:${free.port}`] });
  const sections = ['--section', 'put', '--section', 'events', '--receiver-port', String(free.port)];
  const { status, out, errors } = await run([url, ...demo, '--yes', ...sections]);
  expect(out).toMatch(/^\nput: Endpoints, Update by PUT\n {2}holds {8}an order is changed by PUT/);
  expect(out).toMatch(/\n18 hold, 0 differ, 0 cannot be told\n$/);
  expect(errors).toMatch(/^Removed \d+ records that this run had made\.\n$/);
  expect([status, await ordersAt(databaseUrl)]).toEqual([0, []]);
});

test('--json gives one document, and a difference exits 1', async () => {
  const { url } = await seededService();
  await using proxy = await startChangingProxy(url, {
    answer: (answer, { method }) => {
      if (method === 'PUT') answer.status = 405;
    },
  });
  const { status, out } = await run([proxy.url, ...demo, '--yes', '--json', '--section', 'put']);
  const { counts, statements, left } = JSON.parse(out);
  expect([status, counts, left]).toEqual([1, { holds: 0, differs: 3, 'cannot tell': 0 }, []]);
  expect(statements[0]).toEqual({
    chapter: 'put',
    section: 'Endpoints, Update by PUT',
    says: 'an order is changed by PUT /v1/orders/:id with fields as query parameters',
    outcome: 'differs',
    found: expect.stringMatching(/^PUT \/v1\/orders\/\d+\?user_name=Put answered 405$/),
    expected: 'a success status',
  });
});

test('what could not be removed is named, and exits 1', async () => {
  const { url, databaseUrl } = await seededService();
  await using proxy = await startChangingProxy(url, {
    call: (call) => {
      if (call.method === 'DELETE' && call.path.startsWith('/v1/orders/')) call.method = 'TRACE-NOT';
    },
  });
  const { status, errors } = await run([proxy.url, ...demo, '--yes', '--section', 'put']);
  const codes = (await ordersAt(databaseUrl)).map(({ code }) => String(code));
  expect([status, codes.length]).toEqual([1, 1]);
  for (const code of codes) expect(errors).toMatch(new RegExp(`could not be removed: orders \\d+ ${code}: `));
});

test('interrupted, it removes what it made', async () => {
  const { url, databaseUrl } = await seededService();
  let isStopped = false;
  const { status, errors } = await run([url, ...demo, '--yes', '--section', 'orders'], (out, stop) => {
    if (isStopped || !out.includes('limit: from 1')) return;
    isStopped = true;
    // The terminal sends it to the whole group, and npm passes it on.
    stop();
    stop();
  });
  expect(status).toBe(130);
  expect(errors).toContain('records that this run had made.');
  expect(await ordersAt(databaseUrl)).toEqual([]);
});
