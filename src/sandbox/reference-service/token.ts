import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from './failure.ts';
import { paramsOf } from './request.ts';
import type { Service } from './service.ts';

/** `POST /oauth/token` and the check of the token on everything else (docs/interface.md, "Authentication"). */
export function token(app: FastifyInstance, { store, options, now }: Service): void {
  app.post('/oauth/token', { config: { isOpen: true } }, async (request) => {
    const params = paramsOf(request);
    if (params.grant_type !== 'client_credentials') {
      throw new Failure(400, 'grant_type: expected client_credentials');
    }
    if (params.client_id !== options.clientId || params.client_secret !== options.clientSecret) {
      throw new Failure(401, 'client_id or client_secret is wrong');
    }
    const fresh = randomBytes(24).toString('hex');
    const ttl = options.tokenTtlSeconds;
    const expiresAt = ttl === undefined ? null : new Date(now().getTime() + ttl * 1000);
    await store.rows('delete from reference_service.tokens where expires_at <= $1', [now()]);
    await store.rows('insert into reference_service.tokens values ($1, $2, $3)', [fresh, options.clientId, expiresAt]);
    return { access_token: fresh, token_type: 'Bearer', ...(ttl !== undefined && { expires_in: ttl }) };
  });

  app.addHook('preHandler', async (request) => {
    if ((request.routeOptions.config as { isOpen?: boolean }).isOpen || request.is404) return;
    const given = tokenOf(request);
    if (given === undefined) throw new Failure(401, 'access_token is missing');
    const isKnown = /^[0-9a-f]+$/.test(given) && (await store.rows(knownSql, [given, now()])).length > 0;
    if (!isKnown) throw new Failure(401, 'access_token is unknown or has expired');
  });
}

const knownSql = 'select 1 from reference_service.tokens where token = $1 and (expires_at is null or expires_at > $2)';

function tokenOf(request: FastifyRequest): string | undefined {
  const inParams = paramsOf(request).access_token;
  if (typeof inParams === 'string' && inParams !== '') return inParams;
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}
