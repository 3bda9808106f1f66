import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type RequestListener, request as send } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';

/** Serves HTTP on a free port of this machine until it is closed. */
export async function serve(handler: RequestListener) {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close, [Symbol.asyncDispose]: close };
}

/** A call on its way to the service. `form`: the fields of the body, or of the query if there is no form. */
export type Call = { method: string; path: string; query: URLSearchParams; form: URLSearchParams };
type Sent = Call & { url: string; type: string | undefined; text: string };
type Response = { status: number; headers: Record<string, string>; text: string };

/** @returns undefined: the client gets no response and its connection breaks. */
type Handle = (call: Sent, passOn: () => Promise<Response>) => Promise<Response | undefined>;

/** Stands between client and service. The service sees a call as it was changed before it was passed on. */
export async function startProxy(target: string, handle: Handle) {
  // `fetch` costs twice the processor time, and simulated days consist of such calls.
  const agent = new Agent({ keepAlive: true });
  const server = await serve(async (incoming, outgoing) => {
    const call = await callOf(incoming);
    const response = await handle(call, () => passOn(target, call, agent)).catch(() => undefined);
    if (response === undefined) incoming.socket.destroy();
    else outgoing.writeHead(response.status, response.headers).end(response.text);
  });
  const close = () => {
    agent.destroy();
    return server.close();
  };
  return { url: server.url, close, [Symbol.asyncDispose]: close };
}

async function callOf(incoming: IncomingMessage): Promise<Sent> {
  const { method = 'GET', url = '/' } = incoming;
  const type = incoming.headers['content-type'];
  const text = await textOf(incoming);
  const { pathname: path, searchParams: query } = new URL(url, 'http://service');
  const isForm = type?.startsWith('application/x-www-form-urlencoded') === true;
  return { method, url, type, text, path, query, form: isForm ? new URLSearchParams(text) : query };
}

async function passOn(target: string, call: Sent, agent: Agent): Promise<Response> {
  const { method, path, query, form, type, text } = call;
  const url = `${target}${path}${query.size > 0 ? `?${query}` : ''}`;
  const headers = type === undefined ? {} : { 'content-type': type };
  const onward = send(url, { method, headers, agent }).end(form === query ? text : form.toString());
  const [response] = (await once(onward, 'response')) as [IncomingMessage];
  const kept = Object.entries(response.headers).filter(([name]) => !ofConnection.includes(name));
  return {
    status: response.statusCode ?? 502,
    headers: Object.fromEntries(kept) as Record<string, string>,
    text: await textOf(response),
  };
}

const ofConnection = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

async function textOf(incoming: IncomingMessage): Promise<string> {
  return Buffer.concat(await incoming.toArray()).toString();
}

const isToken = ({ path }: Call) => path === '/oauth/token';
const json = { 'content-type': 'application/json' };

/**
 * What happens to a request: `pass`, the service gets it; `lose`, the service carries it out and its response is lost;
 * `status`, the response has this status and the service gets nothing; `carriedOutWith`, the service carries it out,
 * and the response has this status and no body; `form`, the service gets these fields instead.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | { status: number; body?: string }
  | { carriedOutWith: number }
  | { form: URLSearchParams };

export type ProxiedRequest = Pick<Call, 'method' | 'path' | 'form'>;
export type Rule = (request: ProxiedRequest) => Fate | Promise<Fate>;

/** Treats each request as the rule says. The token's requests are passed on. */
export async function startRuleProxy(target: string) {
  let rule: Rule = () => 'pass';
  const requests: ProxiedRequest[] = [];
  const proxy = await startProxy(target, async (call, passOn) => {
    if (isToken(call)) return passOn();
    const { method, path, form } = call;
    requests.push({ method, path, form });
    const fate = await rule({ method, path, form });
    if (fate === 'pass') return passOn();
    if (fate === 'lose') {
      await passOn();
      return undefined;
    }
    if ('status' in fate) return { status: fate.status, headers: json, text: fate.body ?? '{}' };
    if ('form' in fate)
      Object.assign(call, form === call.query ? { query: fate.form, form: fate.form } : { form: fate.form });
    const response = await passOn();
    return 'carriedOutWith' in fate ? { status: fate.carriedOutWith, headers: {}, text: '' } : response;
  });
  return {
    ...proxy,
    requests: requests as readonly ProxiedRequest[],
    /** From now on requests are treated by this rule. */
    use(next: Rule): void {
      rule = next;
      requests.length = 0;
    },
  };
}

/** The service's answer. The client sees it as it was changed. */
export type Answer = { status: number; headers: Record<string, string>; body: unknown };
export type Change = { call?: (call: Call) => void; answer?: (answer: Answer, call: Call) => void };

/** Makes another service of it. */
export const startChangingProxy = (target: string, change: Change) =>
  startProxy(target, async (call, passOn) => {
    change.call?.(call);
    const { status, headers, text } = await passOn();
    const answer: Answer = { status, headers, body: text === '' ? undefined : JSON.parse(text) };
    change.answer?.(answer, call);
    return { ...answer, text: answer.body === undefined ? '' : JSON.stringify(answer.body) };
  });

export const all = (noun: string) => new RegExp(`^/v1/${noun}$`);

export type Fields = Record<string, unknown>;

/** Changes each object of the answer, at any depth. */
export function eachObject(value: unknown, change: (fields: Fields) => void): void {
  if (typeof value !== 'object' || value === null) return;
  change(value as Fields);
  for (const inner of Object.values(value)) eachObject(inner, change);
}

/** Changes the calls of one kind. */
export const inCalls = (method: string, path: RegExp, change: (call: Call) => void): Change => ({
  call: (call) => void (call.method === method && path.test(call.path) && change(call)),
});

/** Changes the answers to one kind of call. */
export const inAnswers = (method: string, path: RegExp, change: (answer: Answer) => void): Change => ({
  answer: (answer, call) => void (call.method === method && path.test(call.path) && change(answer)),
});

/** Changes each review that a list shows. */
export const inLists = (change: (review: Fields) => void): Change =>
  inAnswers('GET', all('reviews'), ({ body }) => void (Array.isArray(body) && body.forEach(change)));

/**
 * Passes bytes on to a port of 127.0.0.1 and counts what the client sends. Calls back at the n-th time, before it
 * passes the bytes on.
 */
export async function startTcpProxy(port: number) {
  let sent = 0;
  let plan: { n: number; then: () => void } | undefined;
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      sent += 1;
      if (plan?.n === sent) plan.then();
      else upstream.write(chunk);
    });
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => sent,
    at(n: number, then: () => void) {
      sent = 0;
      plan = { n, then };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
