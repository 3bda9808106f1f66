import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Receiver = {
  url: string;
  /** Every request so far, in the order of arrival. */
  received: { method: string | undefined; headers: IncomingHttpHeaders; body: unknown }[];
  /** What the next requests are answered; a redirect leads to this receiver. */
  answer: number | 'hang';
};

/** Takes webhooks until the test is over. */
export async function startReceiver(): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('');
    receiver.received.push({ method: request.method, headers: request.headers, body: JSON.parse(text) });
    if (receiver.answer !== 'hang') response.writeHead(receiver.answer, { location: receiver.url }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/hook`, received: [], answer: 200 };
  return receiver;
}
