import Fastify, { type FastifyInstance } from 'fastify';
import { describeError, ReviewSyncError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { cached } from './cached.ts';
import { type MetricsOptions, metricsRoute } from './metrics-route.ts';
import { type StatusOptions, statusRoutes } from './status-routes.ts';
import { openTokenThrottle } from './token-throttle.ts';
import { type WebhookOptions, webhookRoute } from './webhook-route.ts';

export type ServerOptions = {
  host: string;
  port: number;
  warehouse: Warehouse;
  log: Logger;
  /** Undefined: webhooks are not accepted. */
  webhooks: WebhookOptions | undefined;
  /** Undefined: there is no /metrics. */
  metrics: MetricsOptions | undefined;
  /** Undefined: there is no status page. */
  status: StatusOptions | undefined;
};

/** Requests answered at a time. A request in work takes memory, and anybody may send one. */
const mostAtATime = 200;

/** Requests that one connection may send, also before it has read a response. */
const mostOfConnection = 100;

export type RunningServer = { url: string; close(): Promise<void> };

/**
 * Starts the HTTP server: webhooks, status page, metrics, health.
 *
 * @throws ReviewSyncError where it cannot listen.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const app = Fastify({
    forceCloseConnections: 'idle',
    bodyLimit: 64 * 1024,
    requestTimeout: 60_000,
    // Longer than any WEBHOOK_SECRET: the router's own error message quotes the path.
    routerOptions: { maxParamLength: 1000 },
    frameworkErrors: (_error, _request, reply) => void reply.callNotFound(),
  });
  const { warehouse, log, webhooks, metrics, status } = options;
  app.addHook('onSend', async (_request, reply) => void reply.header('x-content-type-options', 'nosniff'));
  app.server.maxRequestsPerSocket = mostOfConnection;
  let inWork = 0;
  app.addHook('onRequest', async (_request, reply) => {
    if (inWork >= mostAtATime) return reply.status(503).header('retry-after', '5').send({ error: 'too many requests' });
    inWork += 1;
    reply.raw.once('close', () => {
      inWork -= 1;
    });
  });
  handleErrors(app, log);
  healthRoutes(app, warehouse);
  const throttle = openTokenThrottle(log);
  if (metrics) metricsRoute(app, metrics, throttle);
  if (webhooks) webhookRoute(app, webhooks, throttle);
  if (status) statusRoutes(app, status, throttle);
  try {
    const url = await app.listen({ host: options.host, port: options.port });
    return { url, close: () => app.close() };
  } catch (error) {
    await app.close();
    const reason = describeError(error);
    throw new ReviewSyncError('listen', `Cannot listen on ${options.host}:${options.port}: ${reason}`, {
      hint: 'Set HOST and PORT to an address of this machine and a port that is free.',
    });
  }
}

/** Short error bodies. Logs the route and not the path, which may hold the webhook secret. */
function handleErrors(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) log.warn({ route: request.routeOptions.url, error: describeError(error) }, 'a request failed');
    if (status === 503) reply.header('retry-after', '5');
    return reply.status(status).send({ error: status >= 500 ? 'not available, try again' : error.message });
  });
  app.setNotFoundHandler((_request, reply) => reply.status(404).send({ error: 'no such path' }));
}

/** `/healthz`: the process responds. `/readyz`: it can store what it receives. */
function healthRoutes(app: FastifyInstance, warehouse: Warehouse): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  // One look a second for all who ask, for it takes a connection of the webhooks.
  const ready = cached(() => warehouse.pool.query('select 1'), 1000);
  app.get('/readyz', async (_request, reply) => {
    try {
      await ready.get();
      return { status: 'ok' };
    } catch {
      return reply.status(503).send({ status: 'the warehouse does not respond' });
    }
  });
}
