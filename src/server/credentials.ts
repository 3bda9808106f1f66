import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../base/log.ts';

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Whether two texts are equal, in a time that does not depend on where they differ. */
export const isEqualSecret = (found: string, expected: string): boolean =>
  timingSafeEqual(digest(found), digest(expected));

/** Whether the request has the token: as a bearer token, or as the password of HTTP Basic with any user. */
export function hasToken({ headers }: FastifyRequest, token: string, onWrong: () => void): boolean {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ');
  const password = Buffer.from(value, 'base64')
    .toString('utf8')
    .replace(/^[^:]*:/, '');
  if (isEqualSecret(scheme.toLowerCase() === 'basic' ? password : value, token)) return true;
  if (headers.authorization !== undefined) onWrong();
  return false;
}

/** Whether a proxy passed the request on. If so, its source address says nothing about the client. */
export const isForwarded = ({ headers }: FastifyRequest): boolean =>
  ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);

/** Warns at most once a minute: guesses and repeated requests must not fill the log. */
export function onceAMinute(log: Logger, message: string): (fields: object) => void {
  let warnedMs = Number.NEGATIVE_INFINITY;
  return (fields) => {
    if (performance.now() - warnedMs < 60_000) return;
    warnedMs = performance.now();
    log.warn(fields, message);
  };
}

export function wrongTokenWarning(log: Logger, what: string): () => void {
  const warn = onceAMinute(log, 'a request had a wrong token');
  return () => warn({ what });
}
