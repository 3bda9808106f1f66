/** The fastest possible service: responds from memory and records the requests. Run as a child with an IPC channel. */
import { createServer } from 'node:http';

export type Recorded = { method: string; path: string; body: string };

/** `settings` forgets what was recorded; `take` asks for it. */
export type StubMessage = { kind: 'settings'; latencyMs: number; isRecording: boolean } | { kind: 'take' };
export type StubReply = { requests: number; recorded: Recorded[] };

let recorded: Recorded[] = [];
let nextId = 1;
let requests = 0;
let [latencyMs, isRecording] = [0, true];
const ids = new Map<string, number>();

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? '';
    if (path !== '/oauth/token') {
      requests += 1;
      if (isRecording) recorded.push({ method: request.method ?? '', path, body });
    }
    response.setHeader('content-type', 'application/json');
    response.statusCode = request.method === 'POST' ? 201 : 204;
    const text = request.method === 'POST' ? responseTo(path, body) : undefined;
    if (latencyMs === 0) response.end(text);
    else setTimeout(() => response.end(text), latencyMs);
  });
});

function responseTo(path: string, body: string): string {
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

process.on('message', (message: StubMessage) => {
  const reply: StubReply = { requests, recorded };
  if (message.kind === 'settings') [latencyMs, isRecording] = [message.latencyMs, message.isRecording];
  recorded = [];
  requests = 0;
  ids.clear();
  process.send?.(reply);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
