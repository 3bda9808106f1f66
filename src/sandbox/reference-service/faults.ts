import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { Failure } from './failure.ts';

export type Faults = { latencyMs: number; failRate: number; rateLimitPerSecond: number | undefined };

/**
 * Makes the service as bad as its settings say: slow, failing, limiting, losing answers after the work was done.
 *
 * @param faults read again for each request, so that they can be changed while it runs.
 * @param random from 0 to below 1, like Math.random.
 */
export function addFaults(app: FastifyInstance, faults: Faults, random: () => number): void {
  const waitOf = limiter();
  app.decorateRequest('losesAnswer', false);

  app.addHook('onRequest', async (request, reply) => {
    if (faults.latencyMs > 0) await delay(faults.latencyMs);
    const waitSeconds = waitOf(faults.rateLimitPerSecond);
    if (waitSeconds > 0) throw new Failure(429, 'too many requests', { 'retry-after': String(waitSeconds) });
    if (random() >= faults.failRate) return;
    const kind = Math.floor(random() * 5);
    if (kind === 0) throw new Failure(500, 'something went wrong');
    if (kind === 1) throw new Failure(503, 'busy', { 'retry-after': '1' });
    if (kind === 2) throw new Failure(503, 'busy');
    if (kind === 3) {
      reply.hijack();
      request.raw.socket.destroy();
      return;
    }
    // The work is done, and its answer is lost.
    request.losesAnswer = true;
  });

  app.addHook('onSend', async (request, _reply, payload) => {
    if (request.losesAnswer) request.raw.socket.destroy();
    return payload;
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    losesAnswer: boolean;
  }
}

/** A bucket that fills at the rate and holds one second's requests; gives whole seconds to wait, 0 for none. */
function limiter(): (perSecond: number | undefined) => number {
  let left = Number.POSITIVE_INFINITY;
  let at = performance.now();
  return (perSecond) => {
    const now = performance.now();
    const room = perSecond === undefined ? Number.POSITIVE_INFINITY : Math.max(1, perSecond);
    left = perSecond === undefined ? room : Math.min(room, left + ((now - at) / 1000) * perSecond);
    at = now;
    if (left < 1 && perSecond !== undefined) return Math.ceil((1 - left) / perSecond);
    left -= 1;
    return 0;
  };
}
