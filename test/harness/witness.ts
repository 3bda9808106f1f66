import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request and its answer, as they went over the wire. */
export type Exchange = {
  method: string;
  /** With the query. */
  path: string;
  requestHeaders: IncomingHttpHeaders;
  requestBody: string;
  status: number;
  headers: Headers;
  body: string;
};

/** Stands between client and service and writes down what both say; changes nothing. */
export async function startWitness(target: string) {
  const exchanges: Exchange[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url: path = '/', headers: requestHeaders } = incoming;
    const requestBody = await new Response(incoming as unknown as ReadableStream).text();
    const type = requestHeaders['content-type'];
    const answer = await fetch(`${target}${path}`, {
      method,
      ...(type !== undefined && { headers: { 'content-type': type } }),
      ...(requestBody !== '' && { body: requestBody }),
    });
    const body = await answer.text();
    exchanges.push({ method, path, requestHeaders, requestBody, status: answer.status, headers: answer.headers, body });
    for (const name of ['content-type', 'link', 'location', 'date']) {
      const value = answer.headers.get(name);
      if (value !== null) outgoing.setHeader(name, value);
    }
    outgoing.writeHead(answer.status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges: exchanges as readonly Exchange[],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
