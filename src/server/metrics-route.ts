import type { FastifyInstance } from 'fastify';
import { hasCredentials, hasToken, isForwarded } from './credentials.ts';
import type { TokenThrottle } from './token-throttle.ts';

export type MetricsOptions = {
  /** STATUS_TOKEN; undefined only where the server listens on a loopback address. */
  token: string | undefined;
  contentType: string;
  render(): Promise<string>;
};

/**
 * `GET /metrics`, for Prometheus, without customers' data. With STATUS_TOKEN a request needs it as a bearer token.
 * Without it only direct requests of this machine are served: behind a proxy every client has a loopback address.
 */
export function metricsRoute(app: FastifyInstance, options: MetricsOptions, throttle: TokenThrottle): void {
  const { token, contentType, render } = options;
  app.get('/metrics', async (request, reply) => {
    if (token === undefined && isForwarded(request)) {
      return reply.status(403).send({ error: 'metrics behind a proxy need STATUS_TOKEN' });
    }
    if (token !== undefined && !hasToken(request, token)) {
      if (hasCredentials(request) && !(await throttle.wrongToken('/metrics'))) return reply.status(429).send();
      return reply.status(401).header('www-authenticate', 'Bearer').send({ error: 'STATUS_TOKEN is required' });
    }
    return reply.header('content-type', contentType).send(await render());
  });
}
