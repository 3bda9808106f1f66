import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call on its way to the service; what is changed of it, the service sees. */
export type Call = { method: string; path: string; query: URLSearchParams; form: URLSearchParams };

/** The service's answer; what is changed of it, the client sees. */
export type Answer = { status: number; headers: Record<string, string>; body: unknown };

export type Change = {
  call?: (call: Call) => void;
  answer?: (answer: Answer, call: Call) => void;
};

export type ChangingProxy = AsyncDisposable & { url: string };

/** Stands between client and service, and makes another service of it. */
export async function startChangingProxy(target: string, change: Change): Promise<ChangingProxy> {
  const server = createServer(async (incoming, outgoing) => {
    const text = (await incoming.setEncoding('utf8').toArray()).join('');
    const type = incoming.headers['content-type'];
    const isForm = type?.startsWith('application/x-www-form-urlencoded') === true;
    const url = new URL(incoming.url ?? '/', target);
    const form = new URLSearchParams(isForm ? text : '');
    const call: Call = { method: incoming.method ?? 'GET', path: url.pathname, query: url.searchParams, form };
    change.call?.(call);
    const answer = await passOn(url, call, isForm ? form.toString() : text, type);
    change.answer?.(answer, call);
    const body = answer.body === undefined ? '' : JSON.stringify(answer.body);
    outgoing.writeHead(answer.status, answer.headers).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function passOn(url: URL, { method }: Call, body: string, type: string | undefined): Promise<Answer> {
  const response = await fetch(url, {
    method,
    ...(body !== '' && { body, headers: { 'content-type': type ?? '' } }),
  });
  const text = await response.text();
  const headers: Record<string, string> = {};
  for (const name of ['content-type', 'location', 'link', 'date']) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return { status: response.status, headers, body: text === '' ? undefined : JSON.parse(text) };
}
