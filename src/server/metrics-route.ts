import type { FastifyInstance } from 'fastify';
import { isKnown } from './token.ts';

export type MetricsOptions = {
  /** Who shows it may read them; undefined: everybody who reaches this address. */
  token: string | undefined;
  contentType: string;
  render(): Promise<string>;
};

/** `GET /metrics`, for Prometheus; behind STATUS_TOKEN as a bearer where that is set. No customer's data. */
export function metricsRoute(app: FastifyInstance, { token, contentType, render }: MetricsOptions): void {
  app.get('/metrics', async (request, reply) => {
    if (token !== undefined && !isKnown(request, token)) {
      return reply.status(401).header('www-authenticate', 'Bearer').send({ error: 'STATUS_TOKEN is asked for' });
    }
    return reply.header('content-type', contentType).send(await render());
  });
}
