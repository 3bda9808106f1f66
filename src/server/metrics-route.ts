import type { FastifyInstance } from 'fastify';
import { metricsContentType, renderBrands } from '../app/metrics.ts';
import { isLoopback } from '../base/is-loopback.ts';
import { hasToken, isForwarded } from './credentials.ts';
import type { Served } from './measured-app.ts';
import { wrongTokenWarning } from './once-a-minute.ts';

/**
 * `GET /metrics`, for Prometheus, without customers' data. With STATUS_TOKEN a request needs it as a bearer token.
 * Without it there are metrics on a loopback address only, and for direct requests of this machine only: behind a proxy
 * every client has a loopback address, and a web page may give its own name such an address.
 */
export function metricsRoute(server: FastifyInstance, { deployment, log, all }: Served): void {
  const { host, statusToken: token, brandsDir } = deployment;
  if (token === undefined && !isLoopback(host)) {
    log.warn('STATUS_TOKEN is not set: /metrics is only served on a loopback address');
    return;
  }
  const warnWrongToken = wrongTokenWarning(log, '/metrics');
  server.get('/metrics', async (request, reply) => {
    if (token === undefined && (isForwarded(request) || !isLoopback(request.hostname))) {
      return reply
        .status(403)
        .send({ error: 'metrics behind a proxy or another name than localhost need STATUS_TOKEN' });
    }
    if (token !== undefined && !hasToken(request, token, warnWrongToken)) {
      return reply.status(401).header('www-authenticate', 'Bearer').send({ error: 'STATUS_TOKEN is required' });
    }
    const metrics = all().map((one) => one.metrics);
    const text = brandsDir === undefined ? metrics[0]?.render() : renderBrands(metrics);
    return reply.header('content-type', metricsContentType).send(await text);
  });
}
