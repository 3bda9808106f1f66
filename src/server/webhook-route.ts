import type { FastifyInstance } from 'fastify';
import type { AcceptOutcome } from '../webhooks/accept-webhook.ts';
import { isEqualSecret } from './credentials.ts';

export type WebhookOptions = {
  /** The secret part of the path. */
  secret: string;
  /** Stores the body. Its outcome is the response. */
  accept(body: string): Promise<AcceptOutcome>;
  /** Called for a refused request with the right secret: the service may have changed its format. */
  onRefused(status: number): void;
  /** Called when a webhook was stored. */
  onAccepted(): void;
};

/** Largest body in bytes. An event of the spec takes some 70 bytes. */
const mostBytes = 1024 * 1024;

/**
 * `POST /webhooks/<secret>` (docs/interface.md, "Events"). A wrong secret is a 404. Responds with 200 when the body is
 * stored durably, with 400, 413, 415 or 422 where it is refused, and with 503 where the service should send it again.
 */
export function webhookRoute(parent: FastifyInstance, options: WebhookOptions): void {
  parent.register(async (app) => {
    app.addHook('onResponse', async (_request, { statusCode }) => {
      if (statusCode >= 400 && statusCode !== 404) options.onRefused(statusCode);
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
          return isEqualSecret(request.params.secret, options.secret) ? undefined : reply.callNotFound();
        },
      },
      async (request, reply) => {
        const accepted = await options.accept(request.body ?? '');
        if (accepted.status !== 200) return reply.status(accepted.status).send({ error: accepted.reason });
        options.onAccepted();
        return { accepted: true };
      },
    );
  });
}
