import type { IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { serve } from '../../harness/proxy.ts';

export type Receiver = {
  url: string;
  /** Every request so far, in the order of arrival. */
  received: { method: string | undefined; headers: IncomingHttpHeaders; body: unknown }[];
  /** What the next requests are answered; a redirect leads to this receiver. */
  answer: number | 'hang';
};

/** Takes webhooks until the test is over. */
export async function startReceiver(): Promise<Receiver> {
  const server = await serve(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('');
    receiver.received.push({ method: request.method, headers: request.headers, body: JSON.parse(text) });
    if (receiver.answer !== 'hang') response.writeHead(receiver.answer, { location: receiver.url }).end();
  });
  onTestFinished(server.close);
  const receiver: Receiver = { url: `${server.url}/hook`, received: [], answer: 200 };
  return receiver;
}
