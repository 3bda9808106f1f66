import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from './failure.ts';
import { parseForm } from './form.ts';
import type { Params } from './input.ts';

/** Bodies may be JSON or forms; one that is empty has no parameters, whatever its type says. */
export function acceptBodies(app: FastifyInstance): void {
  const json = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, {});
    else json(request, body as string, done);
  });
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, parseForm(String(body))),
  );
}

/** Query and body fields, merged: the spec's usage passes fields of a write in either. */
export function paramsOf(request: FastifyRequest): Params {
  const body = typeof request.body === 'object' && request.body !== null ? request.body : {};
  return { ...(request.query as Params), ...body };
}

/** The `:id` of the path. @throws Failure 404 where it is no id at all. */
export function idOf(request: FastifyRequest, name = 'id'): number {
  const text = (request.params as Record<string, string>)[name] ?? '';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Failure(404, `${name} ${text} not found`);
}
