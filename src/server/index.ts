import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { metricsContentType, renderBrands } from '../app/metrics.ts';
import { describeError, ReviewSyncError } from '../base/errors.ts';
import { isLoopback } from '../base/is-loopback.ts';
import type { Logger } from '../base/log.ts';
import { hasToken, isForwarded, onceAMinute, wrongTokenWarning } from './credentials.ts';
import { cached, type Served } from './measured-app.ts';
import { statusRoutes } from './status-routes.ts';
import { webhookRoute } from './webhook-route.ts';

/** The most requests in work at a time. Each request takes memory, and any client may send it. */
const mostAtATime = 200;

/** Requests that one connection may send, even before it has read a response. */
const mostOfConnection = 100;

/** Connections at a time. The head of an unfinished request takes up to 16 kB for each. */
const mostConnections = 500;

/** How long requests in work may take once the server closes, in milliseconds. After that, their connections end. */
const graceMs = 2000;

export type RunningServer = { url: string; close(): Promise<void> };

/** Starts the HTTP server: metrics and health, and with `isPublic` webhooks and the status page. */
export async function startServer(
  served: Served,
  port: number,
  { isPublic }: { isPublic: boolean },
): Promise<RunningServer> {
  const { deployment, log } = served;
  const server = Fastify({
    forceCloseConnections: 'idle',
    bodyLimit: 64 * 1024,
    requestTimeout: 60_000,
    // Longer than any WEBHOOK_SECRET: the router's own error message quotes the path.
    routerOptions: { maxParamLength: 1000 },
    maxRequestsPerSocket: mostOfConnection,
    frameworkErrors: (_error, _request, reply) => void reply.callNotFound(),
  });
  server.addHook('onSend', async (_request, reply) => void reply.header('x-content-type-options', 'nosniff'));
  limitConnections(server.server);
  handleErrors(server, log);
  healthRoutes(server, served);
  server.register(async (counted) => {
    limitRequests(counted);
    metricsRoute(counted, served);
    if (!isPublic) return;
    webhookRoute(counted, served);
    statusRoutes(counted, served);
  });
  try {
    const url = await server.listen({ host: deployment.host, port });
    return {
      url,
      async close() {
        // Node ignores the timeouts of a closing server, so a client with an unfinished request would hold it open.
        const timer = setTimeout(() => server.server.closeAllConnections(), graceMs);
        await server.close().finally(() => clearTimeout(timer));
      },
    };
  } catch (error) {
    await server.close();
    const hint = `Set HOST and ${isPublic ? 'PORT' : 'METRICS_PORT'} to an address of this machine and a port that is free, from 1024 on if this user is not root.`;
    const what = `Cannot listen on ${deployment.host}:${port}: ${describeError(error)}`;
    throw new ReviewSyncError('listen', what, { hint });
  }
}

/**
 * If there are too many connections, ends the oldest, so that a new client, such as a health check, always gets a
 * response. Connections without a request in work end first: a stranger who only connects must not end the requests of
 * others.
 */
function limitConnections(server: Server): void {
  const open = new Set<Socket>();
  const atWork = new Set<Socket>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    atWork.add(socket);
    response.once('close', () => atWork.delete(socket));
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= mostConnections) return;
    const [oldest] = open;
    ([...open].find((one) => one !== socket && !atWork.has(one)) ?? oldest)?.destroy();
  });
}

/** Refuses requests while too many are in work. Health and unknown paths do not count: anybody may hold them open. */
function limitRequests(server: FastifyInstance): void {
  let inWork = 0;
  server.addHook('onRequest', async (_request, reply) => {
    if (inWork >= mostAtATime) return reply.status(503).header('retry-after', '5').send({ error: 'too many requests' });
    inWork += 1;
    reply.raw.once('close', () => {
      inWork -= 1;
    });
  });
}

/** Sends short error bodies. Logs the route and not the path, which may have the webhook secret. */
function handleErrors(server: FastifyInstance, log: Logger): void {
  const logFailed = onceAMinute(log, 'a request failed');
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) logFailed({ route: request.routeOptions.url, error: describeError(error) });
    if (status === 503) reply.header('retry-after', '5');
    return reply.status(status).send({ error: status >= 500 ? 'not available, try again' : error.message });
  });
  const notFound = (reply: FastifyReply) => reply.status(404).send({ error: 'no such path' });
  // Responds before the body comes: the handler below runs after it.
  server.addHook('onRequest', async (request, reply) => (request.is404 ? notFound(reply) : undefined));
  server.setNotFoundHandler((_request, reply) => notFound(reply));
}

/** `/healthz`: the process responds. `/readyz`: it can store what it receives. */
function healthRoutes(server: FastifyInstance, { all }: Served): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  // A look takes a connection of the webhooks, so all requests within a second share one look.
  const ready = cached(async () => {
    const [measured] = all();
    if (!measured) throw new Error('no brand is open');
    await measured.app.warehouse.pool.query('select 1');
  }, 1000);
  server.get('/readyz', (_request, reply) =>
    ready().then(
      () => ({ status: 'ok' }),
      () => reply.status(503).send({ status: 'the warehouse does not respond' }),
    ),
  );
}

/**
 * `GET /metrics`, for Prometheus, without customers' data. If STATUS_TOKEN is set, a request needs it as a bearer
 * token. Otherwise metrics exist only on a loopback address, and only for direct requests of this machine: behind a
 * proxy, every client has a loopback address, and a web page may point its own name to such an address.
 */
function metricsRoute(server: FastifyInstance, { deployment, log, all }: Served): void {
  const { host, statusToken: token, brandsDir } = deployment;
  if (token === undefined && !isLoopback(host)) {
    log.warn('STATUS_TOKEN is not set: /metrics is only served on a loopback address');
    return;
  }
  const warnWrongToken = wrongTokenWarning(log, '/metrics');
  server.get('/metrics', async (request, reply) => {
    if (token === undefined && (isForwarded(request) || !isLoopback(request.hostname))) {
      const error = 'metrics behind a proxy or another name than localhost need STATUS_TOKEN';
      return reply.status(403).send({ error });
    }
    if (token !== undefined && !hasToken(request, token, warnWrongToken)) {
      return reply.status(401).header('www-authenticate', 'Bearer').send({ error: 'STATUS_TOKEN is required' });
    }
    const metrics = all().map((one) => one.metrics);
    const text = brandsDir === undefined ? metrics[0]?.render() : renderBrands(metrics);
    return reply.header('content-type', metricsContentType).send(await text);
  });
}
