import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Whether the request shows the token: as the password of HTTP's own log-in, whatever the user, or as a bearer. */
export function isKnown({ headers }: FastifyRequest, token: string): boolean {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ');
  const isBasic = scheme.toLowerCase() === 'basic';
  const found = isBasic
    ? Buffer.from(value, 'base64')
        .toString('utf8')
        .replace(/^[^:]*:/, '')
    : value;
  return timingSafeEqual(digest(found), digest(token));
}
