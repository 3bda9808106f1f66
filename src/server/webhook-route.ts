import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AcceptOutcome } from '../webhooks/accept-webhook.ts';
import { isEqualSecret } from './credentials.ts';
import type { TokenThrottle } from './token-throttle.ts';

export type WebhookOptions = {
  /** The secret part of the path. */
  secret: string;
  /** Stores what the body says. Its outcome is the response. */
  accept(body: string): Promise<AcceptOutcome>;
  /** Called for a refused request with the right secret: the service may have changed its format. */
  onRefused(status: number): void;
  /** Called when a webhook was stored. */
  onAccepted(): void;
};

/** Largest body in bytes. An event of the spec takes some 70 bytes. */
const mostBytes = 256 * 1024;
/** Bytes of all bodies that are received or stored at the same time. */
const mostBytesAtATime = 8 * mostBytes;

/**
 * `POST /webhooks/<secret>` (docs/interface.md, "Events"). A wrong secret is a 404. Responds with 200 when the events
 * are stored durably, with 400, 415 or 422 where the body is refused, and with 503 and `Retry-After` where the service
 * should send it again.
 */
export function webhookRoute(parent: FastifyInstance, options: WebhookOptions, throttle: TokenThrottle): void {
  let bytesUnderWay = 0;
  parent.register(async (app) => {
    app.addHook('onResponse', async (_request, { statusCode }) => {
      if (statusCode >= 400 && statusCode !== 404 && statusCode !== 429) options.onRefused(statusCode);
    });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(/^application\/([\w.-]+\+)?json\b/, { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    );
    app.post<{ Params: { secret: string }; Body: string | undefined }>(
      '/webhooks/:secret',
      {
        bodyLimit: mostBytes,
        async onRequest(request, reply) {
          if (!isEqualSecret(request.params.secret, options.secret)) {
            return (await throttle.wrongToken('a webhook')) ? reply.callNotFound() : reply.status(429).send();
          }
          const bytes = bytesOf(request);
          if (bytesUnderWay + bytes > mostBytesAtATime) return tryLater(reply, 'too many webhooks at the same time');
          bytesUnderWay += bytes;
          reply.raw.once('close', () => {
            bytesUnderWay -= bytes;
          });
          return undefined;
        },
        errorHandler(error, _request, reply) {
          if (error.statusCode !== 413) throw error;
          return reply.status(422).send({ error: `expected at most ${mostBytes} bytes` });
        },
      },
      async (request, reply) => {
        const accepted = await options.accept(request.body ?? '');
        if (accepted.status === 503) return tryLater(reply, accepted.reason);
        if (accepted.status !== 200) return reply.status(accepted.status).send({ error: accepted.reason });
        options.onAccepted();
        return { accepted: true };
      },
    );
  });
}

/** Bytes that a request may bring: at least a page of memory, and `mostBytes` where it does not say. */
function bytesOf({ headers }: FastifyRequest): number {
  const announced = headers['content-length'];
  return announced === undefined ? mostBytes : Math.min(mostBytes, Math.max(4096, Number(announced)));
}

const tryLater = (reply: FastifyReply, reason: string) =>
  reply.status(503).header('retry-after', '60').send({ error: reason });
