import Fastify, { type FastifyError } from 'fastify';
import { categories } from './categories.ts';
import { Failure } from './failure.ts';
import { addFaults, type Faults } from './faults.ts';
import { parseForm } from './input.ts';
import { orders } from './orders.ts';
import { overview } from './overview.ts';
import { reviewWrites } from './review-writes.ts';
import { reviews } from './reviews.ts';
import type { ReferenceServiceOptions, Service } from './service.ts';
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
  /** Makes every token that was given out invalid. */
  expireTokens(): Promise<void>;
  close(): Promise<void>;
};

const bodyLimit = 10 * 1024 * 1024;

/**
 * Starts a real implementation of the service's interface on 127.0.0.1, a reading of the spec independent of the
 * client's. All its state is in Postgres, so that it is there after a restart.
 */
export async function startReferenceService(options: ReferenceServiceOptions): Promise<ReferenceService> {
  const now = options.now ?? (() => new Date());
  const { timeZone = 'Asia/Seoul', moneyUnit = 'hundredths', databaseUrl } = options;
  const store = await openStore({ databaseUrl, timeZone, moneyUnit });
  const service: Service = {
    store,
    now,
    options: { clientId: 'demo', clientSecret: 'demo', lastPageLink: 'real', reviewOptionsForm: 'default', ...options },
  };
  const app = Fastify({ forceCloseConnections: true, bodyLimit, routerOptions: { maxParamLength: 500 } });
  const counts: Record<string, number> = {};
  const faults: Faults = {
    latencyMs: options.latencyMs ?? 0,
    failRate: options.failRate ?? 0,
    rateLimitPerSecond: options.rateLimitPerSecond,
  };

  app.addHook('onRequest', async (request, reply) => {
    const route = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
    counts[route] = (counts[route] ?? 0) + 1;
    reply.header('date', now().toUTCString());
  });
  addFaults(app, faults);
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, parseForm(String(body))),
  );
  app.setErrorHandler((error: FastifyError | Failure, _request, reply) => {
    const status = error instanceof Failure ? error.status : (error.statusCode ?? statusOfData(error));
    const errors = error instanceof Failure ? error.errors : [status < 500 ? error.message : 'something went wrong'];
    const headers = error instanceof Failure ? error.headers : {};
    return reply
      .status(status)
      .headers(headers)
      .send({ error: errors.join('; '), errors });
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.status(404).send({ error: 'no such path', errors: ['no such path'] }),
  );
  for (const resource of [token, orders, subOrders, categories, userGrades, overview, reviews, reviewWrites]) {
    resource(app, service);
  }
  const url = await app.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  return {
    url,
    requests: () => ({ ...counts }),
    setFaults: (changed) => void Object.assign(faults, changed),
    expireTokens: async () => void (await store.rows('delete from reference_service.tokens')),
    async close() {
      await app.close();
      await store.close();
    },
  };
}

/** What Postgres refuses of the data is the caller's fault: a code that is taken, a number too large, a NUL. */
function statusOfData(error: { code?: string }): number {
  return /^2[123]/.test(error.code ?? '') ? 422 : 500;
}
