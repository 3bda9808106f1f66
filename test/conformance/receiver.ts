import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parsedJson } from './session.ts';

/** A request of the service to the receiver; `body` is undefined where it was no JSON. */
export type Delivery = { method: string; contentType: string; body: unknown };

export type Receiver = { port: number; deliveries: readonly Delivery[]; close(): Promise<void> };

/** Takes webhooks and answers each with 200. */
export async function startReceiver(port: number, host?: string): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const server = createServer(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('');
    const { method = '', headers } = request;
    deliveries.push({ method, contentType: headers['content-type'] ?? '', body: parsedJson(text) });
    response.writeHead(200).end();
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    deliveries,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
