/** The fastest service there can be: answers from memory, records what it got. Run as a child with an IPC channel. */
import { createServer } from 'node:http';

type Recorded = { method: string; path: string; body: string };

let recorded: Recorded[] = [];
let nextId = 1;
let latencyMs = 0;
const ids = new Map<string, number>();

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? '';
    if (path !== '/oauth/token') recorded.push({ method: request.method ?? '', path, body });
    response.setHeader('content-type', 'application/json');
    response.statusCode = request.method === 'POST' ? 201 : 204;
    const text = request.method === 'POST' ? answer(path, body) : undefined;
    if (latencyMs === 0) response.end(text);
    else setTimeout(() => response.end(text), latencyMs);
  });
});

function answer(path: string, body: string): string {
  if (path === '/oauth/token') return '{"access_token":"bench"}';
  if (path !== '/v1/orders') {
    nextId += 1;
    return `{"id":${nextId}}`;
  }
  const code = new URLSearchParams(body).get('code') ?? '';
  const id = ids.get(code) ?? nextId + 1;
  nextId = Math.max(nextId, id);
  ids.set(code, id);
  return JSON.stringify({ id, code, total_price: { cents: 100, currency_iso: 'KRW' }, sub_orders: [] });
}

/** `take` gives what was recorded; a number forgets it and sets the latency in milliseconds. */
process.on('message', (message: 'take' | number) => {
  if (message === 'take') {
    process.send?.(recorded);
  } else {
    latencyMs = message;
    process.send?.('forgotten');
  }
  recorded = [];
  ids.clear();
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
