import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { Failure } from './failure.ts';

export type Faults = { latencyMs: number; failRate: number; rateLimitPerSecond: number | undefined };

/** Makes the service as bad as it is told to be: slow, failing, limiting, losing answers after the work was done. */
export function addFaults(app: FastifyInstance, faults: Faults): void {
  let second = 0;
  let inSecond = 0;

  app.addHook('onRequest', async (request) => {
    if (faults.latencyMs > 0) await delay(faults.latencyMs);
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) inSecond = 0;
    second = now;
    inSecond += 1;
    if (faults.rateLimitPerSecond !== undefined && inSecond > faults.rateLimitPerSecond) {
      throw new Failure(429, 'too many requests', { 'retry-after': '1' });
    }
    if (Math.random() >= faults.failRate) return;
    const kind = Math.floor(Math.random() * 4);
    if (kind === 0) throw new Failure(500, 'something went wrong');
    if (kind === 1) throw new Failure(503, 'busy', { 'retry-after': '1' });
    if (kind === 2) {
      request.raw.socket.destroy();
      throw new Failure(500, 'the connection broke');
    }
    // The work is done, and its answer lost.
    (request as { losesAnswer?: boolean }).losesAnswer = kind === 3;
  });

  app.addHook('onSend', async (request, _reply, payload) => {
    if ((request as { losesAnswer?: boolean }).losesAnswer) request.raw.socket.destroy();
    return payload;
  });
}
