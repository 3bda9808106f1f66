import type { IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { serve } from '../../harness/proxy.ts';

/** Takes webhooks until the test is over. */
export async function startReceiver() {
  const seen = {
    /** Every request so far, in the order of arrival. */
    received: [] as { method: string | undefined; headers: IncomingHttpHeaders; body: unknown }[],
    /** What the next requests are answered; a redirect leads to this receiver. */
    answer: 200 as number | 'hang',
  };
  const server = await serve(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('');
    seen.received.push({ method: request.method, headers: request.headers, body: JSON.parse(text) });
    if (seen.answer !== 'hang') response.writeHead(seen.answer, { location: '/hook' }).end();
  });
  onTestFinished(server.close);
  return Object.assign(seen, { url: `${server.url}/hook` });
}
