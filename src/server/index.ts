import Fastify, { type FastifyInstance } from 'fastify';
import { ReviewSyncError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { health } from './health.ts';
import { type MetricsOptions, metricsRoute } from './metrics-route.ts';
import { type StatusOptions, statusRoutes } from './status-routes.ts';
import { type WebhookOptions, webhookRoute } from './webhook-route.ts';

export type ServerOptions = {
  host: string;
  port: number;
  /** Addresses of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  warehouse: Warehouse;
  log: Logger;
  /** Undefined: no webhook is accepted. */
  webhooks: WebhookOptions | undefined;
  /** Undefined: there are no metrics. */
  metrics: MetricsOptions | undefined;
  /** Undefined: there is no status page. */
  status: StatusOptions | undefined;
};

export type RunningServer = { url: string; close(): Promise<void> };

/**
 * Listens for what the service tells, and for those who ask how it goes.
 *
 * @throws ReviewSyncError where it cannot listen.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const app = Fastify({
    forceCloseConnections: 'idle',
    bodyLimit: 16 * 1024 * 1024,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    requestTimeout: 60_000,
  });
  const { warehouse, log, webhooks, metrics, status } = options;
  answerErrors(app, log);
  health(app, warehouse);
  if (metrics) metricsRoute(app, metrics);
  if (webhooks) webhookRoute(app, webhooks);
  if (status) statusRoutes(app, status);
  try {
    const url = await app.listen({ host: options.host, port: options.port });
    return { url, close: () => app.close() };
  } catch (error) {
    await app.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new ReviewSyncError('listen', `Cannot listen on ${options.host}:${options.port}: ${reason}`, {
      hint: 'Set HOST and PORT to an address of this machine and a port that is free.',
    });
  }
}

/** Errors in a word; addresses are not logged, for one holds the secret. */
function answerErrors(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) log.warn({ route: request.routeOptions.url, error: error.message }, 'a request failed');
    if (status === 503) reply.header('retry-after', '5');
    return reply.status(status).send({ error: status >= 500 ? 'not available, try again' : error.message });
  });
  app.setNotFoundHandler((_request, reply) => reply.status(404).send({ error: 'no such path' }));
}
