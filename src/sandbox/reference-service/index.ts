import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { isLoopback } from '../../base/is-loopback.ts';
import { categories } from './categories.ts';
import { openEvents } from './events.ts';
import { asFailure, Failure } from './failure.ts';
import { addFaults, type Faults } from './faults.ts';
import { parseForm } from './form.ts';
import { orders } from './orders.ts';
import { overview } from './overview.ts';
import { acceptBodies } from './request.ts';
import { reviewWrites } from './review-writes.ts';
import { reviews } from './reviews.ts';
import { checkAnswers, checkRequests, requireSchemas } from './schemas/check-exchange.ts';
import { openApiDocument } from './schemas/openapi.ts';
import type { ReferenceServiceOptions } from './service.ts';
import { openStore } from './store.ts';
import { subOrders } from './sub-orders.ts';
import { token } from './token.ts';
import { userGrades } from './user-grades.ts';

export type { ReferenceServiceOptions } from './service.ts';

export type ReferenceService = {
  readonly url: string;
  /** Requests so far by method and route, such as `POST /v1/orders`. */
  requests(): Readonly<Record<string, number>>;
  /** Makes it worse or better while it runs. */
  setFaults(faults: Partial<Faults>): void;
  /** From now on no response shows these fields of a review. */
  hideFields(names: readonly string[]): void;
  /** Makes every token that was given out invalid. */
  expireTokens(): Promise<void>;
  /** Sends webhooks to this address, too. */
  addReceiver(url: string): Promise<void>;
  /** Resolves when no webhook waits any more, on this database: all are delivered, or given up. */
  webhooksIdle(): Promise<void>;
  close(): Promise<void>;
};

const resources = [orders, subOrders, categories, userGrades, overview, reviews, reviewWrites];

/**
 * Starts a real implementation of the service's interface: a reading of the spec that is independent of the client's.
 * All its state is in Postgres, so the state survives a restart.
 */
export async function startReferenceService(options: ReferenceServiceOptions): Promise<ReferenceService> {
  const { now = () => new Date(), random = Math.random, host = '127.0.0.1', port = 0 } = options;
  const defaults = {
    clientId: 'demo',
    clientSecret: 'demo',
    hiddenFields: [],
    lastPageLink: 'real',
    reviewOptionsForm: 'default',
    emits: true,
  } as const;
  const settings = { ...defaults, ...options };
  const store = await openStore({ timeZone: 'Asia/Seoul', moneyUnit: 'hundredths', currency: 'KRW', ...settings });
  const faults: Faults = {
    latencyMs: options.latencyMs ?? 0,
    failRate: options.failRate ?? 0,
    rateLimitPerSecond: options.rateLimitPerSecond,
  };
  const counts: Record<string, number> = {};
  const app = openApp();
  app.addHook('onRequest', async (request, reply) => {
    const route = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
    counts[route] = (counts[route] ?? 0) + 1;
    reply.header('date', now().toUTCString());
  });
  if (isLoopback(host)) refuseOtherNames(app);
  addFaults(app, faults, random);
  const service = { store, now, options: settings };
  requireSchemas(app);
  token(app, service);
  checkRequests(app);
  if (options.checkAnswers) checkAnswers(app);
  for (const resource of resources) resource(app, service);
  const document = openApiDocument();
  app.get('/openapi.json', { config: { isOpen: true } }, async () => document);
  const events = await openEvents(service);
  const close = async () => {
    await closeApp(app);
    await events.close();
    await store.close();
  };
  try {
    const url = await app.listen({ port, host });
    return {
      url,
      requests: () => ({ ...counts }),
      hideFields: (names) => void Object.assign(settings, { hiddenFields: names }),
      setFaults: (changed) => void Object.assign(faults, changed),
      addReceiver: events.addReceiver,
      webhooksIdle: events.idle,
      expireTokens: async () => void (await store.rows('delete from reference_service.tokens')),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * A trial holds the shop's customers. If a web page gives its own name the address of this machine, it must not read
 * them through its visitor's browser.
 */
function refuseOtherNames(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isLoopback(request.hostname)) return undefined;
    return reply.status(403).send({ errors: ['This service is reached by 127.0.0.1 or localhost only'] });
  });
}

/**
 * Answers the requests under way. Also closes connections that are kept open for more, including those that fall idle
 * only then.
 */
async function closeApp(app: FastifyInstance): Promise<void> {
  app.server.keepAliveTimeout = 1;
  await app.close();
}

function answerFailure(error: Error, reply: FastifyReply): FastifyReply {
  const { status, errors, headers } = asFailure(error);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply
    .status(status)
    .headers(headers)
    .send({ error: errors.join('; '), errors });
}

/** The HTTP side without its resources: bodies, queries, and what went wrong as `{ error, errors }`. */
function openApp(): FastifyInstance {
  const app = Fastify({
    forceCloseConnections: 'idle',
    bodyLimit: 10 * 1024 * 1024,
    routerOptions: { maxParamLength: 500, querystringParser: parseForm },
    // For a path that cannot be read. The framework's own message would repeat the address with its token.
    frameworkErrors: (error, _request, reply) =>
      answerFailure(new Failure(error.statusCode ?? 400, 'the path cannot be read'), reply),
  });
  acceptBodies(app);
  app.setErrorHandler((error: Error, _request, reply) => answerFailure(error, reply));
  app.setNotFoundHandler((_request, reply) =>
    reply.status(404).send({ error: 'no such path', errors: ['no such path'] }),
  );
  return app;
}
