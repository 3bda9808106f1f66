import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

type Answer = number | 'hang' | Promise<number>;

export type Receiver = {
  url: string;
  /** Every request so far, in the order of arrival. */
  received: { method: string; path: string; headers: IncomingHttpHeaders; raw: string; body: unknown }[];
  /** What the next requests are answered; a redirect leads to this receiver. */
  answer: Answer;
  /** The most requests that were unanswered at one time. */
  mostAtOnce: number;
  close(): void;
};

/** Takes webhooks until the test is over. */
export async function startReceiver(port = 0): Promise<Receiver> {
  let atOnce = 0;
  const server = createServer(async (request, response) => {
    atOnce += 1;
    receiver.mostAtOnce = Math.max(receiver.mostAtOnce, atOnce);
    response.on('close', () => {
      atOnce -= 1;
    });
    const raw = (await request.setEncoding('utf8').toArray()).join('');
    const { method = '', url = '', headers } = request;
    receiver.received.push({ method, path: url, headers, raw, body: JSON.parse(raw) });
    const answer = await receiver.answer;
    if (answer !== 'hang') response.writeHead(answer, { location: receiver.url }).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    answer: 200,
    mostAtOnce: 0,
    close,
  };
  return receiver;
}
