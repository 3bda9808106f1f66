import type { FastifyRequest } from 'fastify';
import { Failure } from './failure.ts';
import type { Params } from './input.ts';

/** Query and body fields, merged: the spec's usage passes fields of a write in either. */
export function paramsOf(request: FastifyRequest): Params {
  const query: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request.query as Record<string, unknown>)) {
    query[name.replace(/\[\]$/, '')] = value;
  }
  const body = typeof request.body === 'object' && request.body !== null ? request.body : {};
  return { ...query, ...body };
}

/** The `:id` of the path. @throws Failure 404 where it is no id at all. */
export function idOf(request: FastifyRequest, name = 'id'): number {
  const text = (request.params as Record<string, string>)[name] ?? '';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Failure(404, `${name} ${text} not found`);
}
