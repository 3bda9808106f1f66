import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Accepted } from '../webhooks/accept-webhook.ts';

export type WebhookOptions = {
  /** The secret part of the path. */
  secret: string;
  /** Key of the HMAC-SHA256 that each body must carry; undefined: none is asked for. */
  hmacSecret: string | undefined;
  /** Header of the HMAC, lower case. */
  hmacHeader: string;
  /** Addresses, or networks such as 10.0.0.0/8, that may send; empty: all. */
  allow: readonly string[];
  /** Keeps the body; what it says is answered. */
  accept(body: string): Promise<Accepted>;
  /** Something was refused, by somebody who knows the secret: else a service that changed its form falls silent unseen. */
  onRefused(status: number): void;
  /** Something was kept. */
  onAccepted(): void;
};

/**
 * `POST /webhooks/<secret>` (spec, "Events"). A wrong secret is a path that is not there. Answers 200 when the body is
 * durable; else 400, 401, 403, 413, 415, 422 and nothing is kept, or 503: send it again.
 */
export function webhookRoute(parent: FastifyInstance, options: WebhookOptions): void {
  const allowed = blockListOf(options.allow);
  parent.register(async (app) => {
    // As bytes: the signature is over what came.
    app.addHook('onResponse', async (_request, { statusCode }) => {
      if (statusCode >= 400 && statusCode !== 404) options.onRefused(statusCode);
    });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(/^application\/([\w.-]+\+)?json\b/, { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    app.post<{ Params: { secret: string } }>(
      '/webhooks/:secret',
      {
        async onRequest(request, reply) {
          if (!isSame(request.params.secret, options.secret)) return reply.callNotFound();
          if (!isAllowed(allowed, request.ip))
            return reply.status(403).send({ error: `${request.ip} may not send here` });
          return undefined;
        },
      },
      async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const { hmacSecret, hmacHeader } = options;
        if (hmacSecret !== undefined && !isSigned(body, hmacSecret, request.headers[hmacHeader])) {
          const error = `expected the header ${hmacHeader} with sha256= and the HMAC-SHA256 of the body in hex`;
          return reply.status(401).send({ error });
        }
        const accepted = await options.accept(body.toString('utf8'));
        if (accepted.status !== 200) return reply.status(accepted.status).send({ error: accepted.reason });
        options.onAccepted();
        return { accepted: true };
      },
    );
  });
}

/** In a time that tells nothing about the secret. */
function isSame(found: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(found), digest(expected));
}

function isSigned(body: Buffer, secret: string, header: string | string[] | undefined): boolean {
  const found = (Array.isArray(header) ? header[0] : header)?.replace(/^sha256=/i, '').toLowerCase() ?? '';
  return isSame(found, createHmac('sha256', secret).update(body).digest('hex'));
}

function blockListOf(addresses: readonly string[]): BlockList | undefined {
  if (addresses.length === 0) return undefined;
  const list = new BlockList();
  for (const one of addresses) {
    const [address = '', bits] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function isAllowed(list: BlockList | undefined, ip: string): boolean {
  if (!list) return true;
  // A socket of both families shows an IPv4 address as ::ffff:1.2.3.4.
  const plain = ip.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(plain) !== 0 && list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
}
