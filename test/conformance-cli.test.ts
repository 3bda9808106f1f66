import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from './conformance/main.ts';
import { query } from './harness/database.ts';
import { startChangingProxy } from './harness/proxy.ts';
import { seededService } from './sandbox/reference-service/conform.ts';

const demo = ['--client-id', 'demo', '--client-secret', 'demo'];

/** Runs the command in this process. */
async function run(...args: string[]) {
  const [out, errors]: [string[], string[]] = [[], []];
  const status = await main(args, { log: (text) => out.push(text), error: (text) => errors.push(text) });
  return { status, out: out.join('\n'), errors: errors.join('\n') };
}

const ordersAt = (databaseUrl: string) => query(databaseUrl, 'select code from reference_service.orders');

test('without --yes, and with what is wrong, it exits 2, says why and writes nothing', async () => {
  const { url, service } = await seededService();
  const wrong = ['--client-id', 'demo', '--client-secret', 'wrong'];
  for (const [args, why] of [
    [[url, ...demo], 'It would write to the service'],
    [[], 'expected one address'],
    [[url, ...demo, '--yes', '--section', 'none'], 'there is no section none'],
    [[url, ...wrong, '--yes'], 'no access_token: POST /oauth/token answered 401'],
    [['http://127.0.0.1:1', ...demo, '--yes'], 'fetch failed'],
  ] as const) {
    const { status, out, errors } = await run(...args);
    expect([status, out]).toEqual([2, '']);
    expect(errors).toContain(why);
  }
  expect(service.requests()).toEqual({ 'POST /oauth/token': 1 });
});

test('it groups and sums up what it found, removes what it made, and exits 0', async () => {
  const { url, databaseUrl } = await seededService();
  const { status, out, errors } = await run(url, ...demo, '--yes', '--section', 'put');
  expect(out).toMatch(/^\nput: Endpoints, Update by PUT\n {2}holds {8}an order is changed by PUT/);
  expect(out).toMatch(/\n3 hold, 0 differ, 0 cannot be judged$/);
  expect(errors).toMatch(/^Removed \d+ records that this run had made\.$/);
  expect([status, await ordersAt(databaseUrl)]).toEqual([0, []]);
});

test('a difference is shown with what was found, repeated at the end, and exits 1', async () => {
  const { url } = await seededService();
  await using proxy = await startChangingProxy(url, {
    answer: (answer, { method }) => {
      if (method === 'PUT') answer.status = 405;
    },
  });
  const { status, out } = await run(proxy.url, ...demo, '--yes', '--section', 'put');
  expect(status).toBe(1);
  expect(out).toMatch(
    /differs +an order .*\n +found PUT \/v1\/orders\/\d+\?user_name=Put answered 405, expected a success/,
  );
  expect(out).toMatch(/\nWhat differs:\n {2}put: .*: an order is .*\n.*\n.*\n\n0 hold, 3 differ, 0 cannot be judged$/);
});

test('what could not be removed is named, and exits 1', async () => {
  const { url, databaseUrl } = await seededService();
  await using proxy = await startChangingProxy(url, {
    call: (call) => {
      if (call.method === 'DELETE' && call.path.startsWith('/v1/orders/')) call.method = 'TRACE-NOT';
    },
  });
  const { status, errors } = await run(proxy.url, ...demo, '--yes', '--section', 'put');
  const codes = (await ordersAt(databaseUrl)).map(({ code }) => String(code));
  expect([status, codes.length]).toEqual([1, 1]);
  for (const code of codes) expect(errors).toMatch(new RegExp(`could not be removed: orders \\d+ ${code}: `));
});

test('interrupted, it removes what it made', async () => {
  const { url, databaseUrl } = await seededService();
  const file = join(import.meta.dirname, 'conformance', 'main.ts');
  const child = execFile(process.execPath, [file, url, ...demo, '--yes', '--section', 'categories']);
  let [out, errors] = ['', ''];
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  child.stdout?.on('data', (text) => {
    const isLater = out.includes('limit: from 1');
    out += text;
    // The terminal sends it to the whole group, and npm passes it on.
    if (!isLater && out.includes('limit: from 1'))
      for (const signal of ['SIGINT', 'SIGINT'] as const) child.kill(signal);
  });
  expect(await once(child, 'close')).toEqual([130, null]);
  expect(errors).toContain('records that this run had made.');
  expect(await query(databaseUrl, 'select from reference_service.categories')).toEqual([]);
});
