import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from './failure.ts';
import { parseForm } from './form.ts';
import type { Params } from './input.ts';

/** Bodies may be JSON or forms; an empty body has no parameters, whatever its type says. */
export function acceptBodies(app: FastifyInstance): void {
  const json = app.getDefaultJsonParser('error', 'error');
  // A text has no parameters, so it is refused like any other type.
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, {});
    else void json(request, body as string, (error, parsed) => done(error ?? faultOf(parsed), parsed));
  });
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, parseForm(String(body))),
  );
}

/** The deepest nesting that is read: deeper than any parameter, and less deep than recursion can go. */
const mostLevels = 20;

function faultOf(body: unknown): Failure | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return new Failure(400, 'expected a JSON object');
  if (isDeeperThan(mostLevels, body)) return new Failure(400, `expected JSON of at most ${mostLevels} levels`);
  return null;
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeperThan(levels - 1, one));
}

/** Query and body fields, merged: the spec's usage passes fields of a write in either. */
export function paramsOf(request: FastifyRequest): Params {
  const body = typeof request.body === 'object' && request.body !== null ? request.body : {};
  return { ...(request.query as Params), ...body };
}

/** The `:id` of the path. @throws Failure 404 if it is no id at all. */
export function idOf(request: FastifyRequest, name = 'id'): number {
  const text = (request.params as Record<string, string>)[name] ?? '';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Failure(404, `${name} ${text} not found`);
}
