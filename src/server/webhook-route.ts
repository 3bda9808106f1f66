import type { FastifyInstance } from 'fastify';
import type { App } from '../app/app.ts';
import { acceptWebhook, type Receiver } from '../webhooks/accept-webhook.ts';
import { isEqualSecret, onceAMinute, wrongTokenWarning } from './credentials.ts';
import type { Served } from './measured-app.ts';

/** Largest body in bytes. An event of the spec takes some 70 bytes. */
const mostBytes = 256 * 1024;

/**
 * `POST /webhooks/<secret>` (docs/interface.md, "Events"). A wrong secret is a 404. 200: the events are stored durably;
 * 400, 415 or 422: the body is refused; 503 and `Retry-After`: the service should send it again.
 */
export function webhookRoute(parent: FastifyInstance, served: Served): void {
  const { webhookSecret: secret } = served.deployment;
  if (secret === undefined) return;
  const warnWrongToken = wrongTokenWarning(served.log, 'a webhook');
  const warnRefused = onceAMinute(served.log, 'a webhook was refused');
  parent.register(async (server) => {
    server.addHook('onResponse', async ({ params }, { statusCode: status }) => {
      // Warn only with the right secret: the service may have changed its format. Strangers must not fill the log.
      const { secret: given = '' } = params as { secret?: string };
      if (status >= 400 && isEqualSecret(given, secret)) warnRefused({ status });
    });
    server.post<{ Params: { secret: string }; Body: unknown }>(
      '/webhooks/:secret',
      {
        bodyLimit: mostBytes,
        async onRequest(request, reply) {
          if (isEqualSecret(request.params.secret, secret)) return undefined;
          warnWrongToken();
          return reply.callNotFound();
        },
        errorHandler(error, _request, reply) {
          // The body is nested too deep to be stored. If it were sent again, it would be refused again.
          if (error.statusCode === 413) return reply.status(422).send({ error: `expected at most ${mostBytes} bytes` });
          if (error instanceof RangeError) return reply.status(422).send({ error: 'nested too deep' });
          throw error;
        },
      },
      async (request, reply) => {
        const receivers = served.all().map(({ app }) => receiverOf(app));
        const accepted = await acceptWebhook(receivers, served.idsOfOthers(), request.body);
        if (accepted.status === 503) reply.header('retry-after', '60');
        if (accepted.status !== 200) return reply.status(accepted.status).send({ error: accepted.reason });
        return { accepted: true };
      },
    );
  });
}

const receiverOf = ({ warehouse, fieldShapes, config }: App): Receiver => ({
  brand: config.brand,
  db: warehouse.db,
  brandIds: config.webhookBrandIds,
  onStored(objects) {
    fieldShapes.begin();
    fieldShapes.see('event', objects);
  },
});
