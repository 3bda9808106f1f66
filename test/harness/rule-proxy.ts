import { once } from 'node:events';
import { Agent, type ClientRequest, createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a rule sees it; `form` holds the fields of the body or of the query. */
export type ProxiedRequest = { method: string; path: string; form: URLSearchParams };

/**
 * What happens to a request: `pass`, the service gets it; `lose`, the service carries it out and its response is lost;
 * `status`, the response has this status and the service gets nothing; `carriedOutWith`, the service carries it out,
 * and the response has this status and no body; with `form`, of these fields; `carriedOutAfter`, the response is 504,
 * and the service carries the request out once the promise has resolved; `form`, the service gets these fields instead.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | { status: number; body?: string }
  | { carriedOutWith: number; form?: URLSearchParams }
  | { carriedOutAfter: Promise<unknown> }
  | { form: URLSearchParams };

export type Rule = (request: ProxiedRequest) => Fate | Promise<Fate>;

/** Stands between client and service and treats each request as the rule says. The token's requests are passed on. */
export async function startRuleProxy(target: string) {
  let rule: Rule = () => 'pass';
  const requests: ProxiedRequest[] = [];
  // `fetch` costs twice the processor time, of which simulated days are made.
  const agent = new Agent({ keepAlive: true });
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/' } = incoming;
    const body = await bodyOf(incoming);
    const [path = '', query = ''] = url.split('?');
    const request = { method, path, form: new URLSearchParams(body || query) };
    const isToken = path === '/oauth/token';
    if (!isToken) requests.push(request);
    const fate = isToken ? 'pass' : await rule(request);
    if (typeof fate === 'object' && 'carriedOutAfter' in fate) {
      outgoing.writeHead(504, { 'content-type': 'text/html' }).end('<html>Gateway Timeout</html>');
      await fate.carriedOutAfter;
    } else if (typeof fate === 'object' && 'status' in fate) {
      outgoing.writeHead(fate.status, { 'content-type': 'application/json' }).end(fate.body ?? '{}');
      return;
    }
    const type = incoming.headers['content-type'];
    const form = typeof fate === 'object' && 'form' in fate ? fate.form?.toString() : undefined;
    const address = form === undefined || body !== '' ? url : `${path}?${form}`;
    const headers = type === undefined ? {} : { 'content-type': type };
    const onward = send(`${target}${address}`, { method, headers, agent }).end(body === '' ? '' : (form ?? body));
    const response = await responseTo(onward).catch(() => undefined);
    if (response === undefined) {
      incoming.socket.destroy();
      return;
    }
    if (outgoing.writableEnded) return;
    if (fate === 'lose') {
      incoming.socket.destroy();
      return;
    }
    if (typeof fate === 'object' && 'carriedOutWith' in fate) {
      outgoing.writeHead(fate.carriedOutWith).end();
      return;
    }
    for (const name of ['content-type', 'link', 'location', 'date']) {
      const value = response.headers[name];
      if (value !== undefined) outgoing.setHeader(name, value);
    }
    outgoing.writeHead(response.status).end(response.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: requests as readonly ProxiedRequest[],
    /** From now on requests are treated so. */
    use(next: Rule): void {
      rule = next;
      requests.length = 0;
    },
    async close(): Promise<void> {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function responseTo(request: ClientRequest) {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 502, headers: response.headers, body: await bodyOf(response) };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
