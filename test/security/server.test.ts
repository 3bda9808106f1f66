import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { cached } from '../../src/server/measured-app.ts';
import { addressOf, startHere, until } from '../harness/cli.ts';
import { openServe } from '../harness/world.ts';

const token = 'a-token-that-is-long-enough';
const secret = 's'.repeat(99) + '-0123456789'.repeat(9);
const bearer = { authorization: `Bearer ${token}` };

test('a page can be read and nothing else, with its token and a strict policy', async () => {
  await using serving = await openServe({ STATUS_TOKEN: token, WEBHOOK_SECRET: secret });
  const { url } = serving;
  const get = (path: string, headers: Record<string, string> = bearer) => fetch(url + path, { headers });

  const policyOf = async (path: string) => (await get(path)).headers.get('content-security-policy');
  expect(await policyOf('/queues')).toMatch(/^default-src 'self'; .*frame-ancestors 'none'; object-src 'none'$/);
  expect(await (await get('/queues')).text()).toMatch(/^(?!.*https?:).*<div id="root"/is);
  expect(await policyOf('/')).toMatch(
    /^default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; connect-src 'self'; img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'$/,
  );
  for (const path of ['/', '/queues']) expect((await get(path)).headers.get('cache-control')).toBe('no-store');
  expect((await get('/')).headers.get('referrer-policy')).toBe('no-referrer');
  // Nobody stops or removes the steps of a run by hand.
  const board = (await (await get('/queues/api/queues')).json()) as { queues: { readOnlyMode: boolean }[] };
  expect(board.queues.map(({ readOnlyMode }) => readOnlyMode)).toEqual(board.queues.map(() => true));
  expect(board.queues).not.toEqual([]);

  for (const [path, expected] of Object.entries({ '/': 200, '/queues': 200, '/healthz': 200, '/nothing': 404 })) {
    const { status, headers } = await get(path);
    expect([path, status, headers.get('x-content-type-options')]).toEqual([path, expected, 'nosniff']);
  }
  // The first request of a browser has no token: that is no wrong one.
  const schemes = { '/metrics': 'Bearer', '/': 'Basic realm="review-sync", charset="UTF-8"' };
  for (const [path, scheme] of Object.entries(schemes)) {
    const { status, headers } = await get(path, {});
    expect([status, headers.get('www-authenticate')]).toEqual([401, scheme]);
  }
  expect((await get('/metrics')).headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  // Wrong tokens are logged once a minute for each place. A browser asks for the page in its own way.
  const basic = `Basic ${btoa('anybody:not-the-token-of-it')}`;
  for (const _time of [1, 2, 3])
    for (const [method, path, status, authorization] of [
      ['GET', '/metrics', 401, 'Bearer not-the-token-of-it'],
      ['GET', '/queues', 401, 'Bearer not-the-token-of-it'],
      ['GET', '/', 401, basic],
      ['POST', '/webhooks/not-the-secret-of-it', 404, basic],
    ] as const) {
      const answer = await fetch(`${url}${path}`, { method, headers: { authorization } });
      expect([path, answer.status]).toEqual([path, status]);
    }
  const { stderr } = await serving.stop();
  const lines = stderr.split('\n').filter((line) => line.includes('a request had a wrong token'));
  expect(lines.map((line) => JSON.parse(line).what)).toEqual(['/metrics', 'the status page', 'a webhook']);
  expect(stderr).not.toContain('not-the');
});

test('a webhook comes in by its whole secret, as a list of events, or is kept nowhere', async () => {
  await using serving = await openServe({ WEBHOOK_SECRET: secret });
  const post = (path: string, body: string, type = 'application/json') =>
    fetch(`${serving.url}/webhooks/${path}`, { method: 'POST', headers: { 'content-type': type }, body });
  for (const wrong of [secret.slice(0, -1), secret.slice(0, 16), secret.slice(0, 1), `${secret}x`, 'x'.repeat(2000)]) {
    const answer = await post(wrong, '[]');
    expect(answer.status).toBe(404);
    if (wrong.length > 1) expect(await answer.text()).not.toContain(wrong);
  }
  expect((await fetch(`${serving.url}/webhooks/${secret}`)).status).toBe(404);
  for (const [status, body, type] of [
    [400, '[{"brand_id":'],
    [400, ''],
    [400, '['.repeat(100_000)],
    [422, JSON.stringify({ brand_id: 1, reviews: [{ id: 1 }] })],
    [422, `[${'1,'.repeat(1000)}1]`],
    [422, JSON.stringify(['x'.repeat(256 * 1024)])],
    [415, 'a=b', 'application/x-www-form-urlencoded'],
    [422, `[{"brand_id":1,"reviews":[${'['.repeat(60_000)}${']'.repeat(60_000)}]}]`],
  ] as const)
    expect([body.slice(0, 20), (await post(secret, body, type)).status]).toEqual([body.slice(0, 20), status]);
  expect(await statusOfAnnounced(`${serving.url}/webhooks/${secret}`, 1024 * 1024 + 1)).toBe(422);
  expect(await serving.world.warehouse('select from sync.changed_reviews')).toEqual([]);
  for (const body of ['[]', JSON.stringify([{ brand_id: 1, reviews: [{ id: 'x' }] }])])
    expect((await post(secret, body)).status).toBe(200);
  await serving.world.warehouse('alter table sync.changed_reviews rename to elsewhere');
  for (const _time of [1, 2]) expect((await post(secret, '[{"brand_id":1,"reviews":[{"id":1}]}]')).status).toBe(503);
  const { stderr } = await serving.stop();
  // A sender repeats what was not stored, for as long as an outage lasts.
  expect([...stderr.matchAll(/"a request failed"/g)]).toHaveLength(1);
  // Its end looks like phone numbers, which a log masks.
  expect(stderr).not.toContain(secret.slice(0, 50));
  // Those who know the secret leave a trace, once a minute, strangers none.
  const traces = [...stderr.matchAll(/"status":(\d+),"msg":"a webhook was refused"/g)];
  expect(traces.map(([, status]) => Number(status))).toEqual([400]);
});

/** Announces a body and sends nothing of it: a server that refuses its length answers, whatever would have come. */
async function statusOfAnnounced(url: string, length: number): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json', 'content-length': length };
  const announced = request(url, { method: 'POST', headers });
  announced.flushHeaders();
  const [answer] = (await once(announced, 'response')) as [IncomingMessage];
  announced.on('error', () => {}).destroy();
  return answer.statusCode;
}

test('no sender fills the warehouse with dead letters, events or waiting reviews', async () => {
  await using serving = await openServe({ WEBHOOK_SECRET: secret });
  const { warehouse } = serving.world;
  for (const count of [10, 999, 1]) {
    const reviews = Array.from({ length: count }, (_, id) => ({ id: `${count}-${id}` }));
    expect((await serving.post([{ brand_id: 1, reviews }])).status).toBe(200);
  }
  expect(await warehouse('select from sync.dead_letters')).toHaveLength(200);

  const reviews = Array.from({ length: 1001 }, (_, n) => ({ id: n + 1 }));
  const tooMany = await serving.post([{ brand_id: 1, reviews }]);
  expect([tooMany.status, await tooMany.json()]).toEqual([422, { error: 'expected at most 1000 events' }]);
  expect(await warehouse('select from sync.changed_reviews')).toEqual([]);
  expect((await serving.post([{ brand_id: 1, reviews: reviews.slice(0, 1000) }])).status).toBe(200);

  await warehouse(`insert into sync.changed_reviews (review_id, due_at)
    select 100000 + n, now() + interval '1 hour' from generate_series(1, 50000) n`);
  const rating = { id: 7, reviews_count: 3, score: 4.5 };
  const full = await serving.post([{ brand_id: 1, reviews: [{ id: 60_000 }], products: [rating] }]);
  expect([full.status, full.headers.get('retry-after')]).toEqual([503, '60']);
  expect(await warehouse('select from warehouse.product_ratings')).toEqual([]);
  await warehouse('delete from sync.changed_reviews where review_id > 140000');
  expect((await serving.post([{ brand_id: 1, products: [rating] }])).status).toBe(200);
});

/** A raw connection that sends this: what came back, and whether it is closed. It ends with the test. */
function sendRaw(url: string, text: string) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
  const connection = { socket, said: '', isClosed: false };
  socket.setEncoding('utf8').on('data', (data) => {
    connection.said += data;
  });
  socket.on('close', () => {
    connection.isClosed = true;
  });
  socket.write(text);
  onTestFinished(() => void socket.destroy());
  return connection;
}
const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** The head of a webhook whose body has two bytes. */
const webhookHead = `POST /webhooks/${secret} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n`;

test('a connection sends a hundred requests; 200 are unfinished, 500 open, at most', async () => {
  await using serving = await openServe({ WEBHOOK_SECRET: secret });
  const send = (text: string) => sendRaw(serving.url, text);
  const unfinished = times(200, () => send(webhookHead));
  await until(async () => (await serving.post([])).status === 503);
  for (const { socket } of unfinished) socket.destroy();
  await until(async () => (await serving.post([])).status === 200);

  const greedy = send('GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1000));
  await until(async () => greedy.said.includes('HTTP/1.1 503'));
  expect(greedy.said.match(/HTTP\/1\.1 200/g)).toHaveLength(100);

  // Six hundred connections without a whole request keep no health check from its answer, and end no request in work.
  const webhook = send(`${webhookHead}[`);
  const idle = times(600, () => send('GET /healthz HTTP/1.1\r\nx: '));
  const ended = () => idle.filter(({ isClosed }) => isClosed).length;
  await until(async () => ended() >= 100);
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200);
  expect(ended()).toBeLessThan(110);
  webhook.socket.write(']');
  await until(async () => webhook.said !== '');
  expect(webhook.said).toMatch(/^HTTP\/1\.1 200 /);
});

test('strangers with unfinished requests keep nobody from an answer, and no process up', async () => {
  await using serving = await openServe({ WEBHOOK_SECRET: secret });
  const head = 'host: localhost\r\ncontent-type: application/json\r\ncontent-length: 99';
  const unfinished = (url: string, request: string) =>
    times(220, () => sendRaw(url, `${request} HTTP/1.1\r\n${head}\r\n\r\n{`));
  const worker = startHere(['worker'], { ...serving.environment, METRICS_PORT: '0' });
  const workerUrl = await addressOf(worker);
  for (const url of [serving.url, workerUrl]) {
    for (const request of ['POST /no/such/path', 'POST /webhooks/wrong-secret', 'GET /healthz'])
      unfinished(url, request);
    expect(await statusOfAnnounced(`${url}/no/such/path`, 99)).toBe(404);
    expect([(await fetch(`${url}/healthz`)).status, (await fetch(`${url}/metrics`)).status]).toEqual([200, 200]);
  }
  expect((await serving.post([])).status).toBe(200);
  const ends: (number | null)[] = [];
  worker.kill('SIGTERM');
  for (const ended of [worker.ended, serving.stop()]) void ended.then(({ status }) => ends.push(status));
  await until(async () => ends.length === 2);
  expect(ends).toEqual([0, 0]);
});

test('without a token only direct requests on a loopback address get metrics', async () => {
  await using open = await openServe({});
  expect((await fetch(`${open.url}/metrics`)).status).toBe(200);
  for (const header of ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'x-real-ip', 'via']) {
    const passedOn = await fetch(`${open.url}/metrics`, { headers: { [header]: '203.0.113.7' } });
    expect([header, passedOn.status]).toEqual([header, 403]);
  }
  // A web page can give its own name the address of this machine.
  const [answer] = await once(
    request(`${open.url}/metrics`, { headers: { host: 'shop.example.com' } }).end(),
    'response',
  );
  expect(answer.resume().statusCode).toBe(403);
  const listening = async (environment: Record<string, string>) => {
    const cli = startHere(['serve'], { ...open.environment, HOST: '0.0.0.0', ...environment });
    return `http://127.0.0.1:${new URL(await addressOf(cli)).port}/metrics`;
  };
  expect((await fetch(await listening({}))).status).toBe(404);
  const guarded = await listening({ STATUS_TOKEN: token });
  expect((await fetch(guarded)).status).toBe(401);
  expect((await fetch(guarded, { headers: bearer })).status).toBe(200);
});

test('on a port that is taken serve ends, and a worker goes on without metrics', async () => {
  await using serving = await openServe({});
  const { port: taken } = new URL(serving.url);
  const refused = await startHere(['serve'], { ...serving.environment, PORT: taken }).ended;
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${taken}: .*EADDRINUSE.*\\n→ Set HOST and PORT`),
    ),
  ]);
  const worker = startHere(['worker'], { ...serving.environment, METRICS_PORT: taken, LOG_LEVEL: 'info' });
  await worker.says('worker ready');
  expect(worker.saidSoFar()).toMatch(/Set HOST and METRICS_PORT to.*goes on without \/metrics/);
});

test('one report serves all who ask within its time, a failure nobody', async () => {
  let [now, made, takesMs, fails] = [0, 0, 0, false];
  const make = async () => {
    now += takesMs;
    made += 1;
    if (fails) throw new Error('down');
    return made;
  };
  const report = cached(make, 5000, () => now);
  const at = (ms: number) => {
    now = ms;
    return report();
  };
  expect(await Promise.all([report(), report(), report()])).toEqual([1, 1, 1]);
  expect([await at(4999), await at(5000)]).toEqual([1, 2]);
  fails = true;
  await expect(at(20_000)).rejects.toThrow('down');
  fails = false;
  // A report that takes a minute is kept from its end on.
  takesMs = 60_000;
  expect([await report(), await at(84_999)]).toEqual([4, 4]);
});
