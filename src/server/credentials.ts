import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Whether two texts are equal, in a time that does not depend on where they differ. */
export const isEqualSecret = (found: string, expected: string): boolean =>
  timingSafeEqual(digest(found), digest(expected));

/** Whether the request has the token: as a bearer token, or as the password of HTTP Basic with any user. */
export function hasToken({ headers }: FastifyRequest, token: string): boolean {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() !== 'basic') return isEqualSecret(value, token);
  const credentials = Buffer.from(value, 'base64').toString('utf8');
  return isEqualSecret(credentials.slice(credentials.indexOf(':') + 1), token);
}

/** Whether the request has any credentials. The first request of a browser has none and is no wrong token. */
export const hasCredentials = ({ headers }: FastifyRequest): boolean => headers.authorization !== undefined;

/** Whether a proxy passed the request on: the address that it came from says nothing about the client then. */
export const isForwarded = ({ headers }: FastifyRequest): boolean =>
  ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
