import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../failure.ts';
import { paramsOf } from '../request.ts';
import { type ParamsCheck, paramsCheck } from './check-params.ts';
import { formats } from './formats.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';
import { operationOf } from './operations.ts';
import { expectedKeyword, type Schema } from './params.ts';

/**
 * Every route must have a schema. Call this before the routes are made. @throws Error from the route that lacks one.
 */
export function requireSchemas(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') operationOf(one, url);
  });
}

/** Compiled once for all services of the process: a check takes 3 ms to compile. */
const requestChecks = new Map<Operation, ParamsCheck>();

/** Answers 422 with all that is wrong with the parameters of a request; 400 if no token is needed yet. */
export function checkRequests(app: FastifyInstance): void {
  app.addHook('preHandler', async (request) => {
    if (request.is404) return;
    const operation = operationOfRequest(request);
    const check = requestChecks.get(operation) ?? paramsCheck(operation);
    requestChecks.set(operation, check);
    const wrong = check(paramsOf(request));
    if (wrong.length > 0) throw new Failure(operation.isOpen ? 400 : 422, wrong);
  });
}

/** Turns an answer that differs from the document into a 500 that says why. For tests, because it costs time. */
export function checkAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.is404) return payload;
    const fault = faultOfAnswer(operationOfRequest(request), reply, typeof payload === 'string' ? payload : '');
    if (fault === undefined) return payload;
    const error = `the answer is not as its schema says: ${fault}`;
    reply.code(500).type('application/json; charset=utf-8').removeHeader('content-length');
    return JSON.stringify({ error, errors: [error] });
  });
}

function operationOfRequest(request: FastifyRequest): Operation {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  return operationOf(method, request.routeOptions.url ?? '');
}

const ajv = new Ajv2020({
  allowUnionTypes: true,
  strictTypes: false,
  keywords: [expectedKeyword, 'components'],
  formats,
});
const failure: Schema = { $ref: '#/components/schemas/Error' };
/** Compiled once for all services of the process, like `requestChecks`. */
const validators = new Map<Schema, ValidateFunction>();

function validatorOf(schema: Schema): ValidateFunction {
  const known = validators.get(schema) ?? ajv.compile({ ...schema, components: openApiDocument().components });
  validators.set(schema, known);
  return known;
}

function faultOfAnswer({ answers }: Operation, reply: FastifyReply, body: string): string | undefined {
  const answer = reply.statusCode >= 400 ? { schema: failure } : answers[reply.statusCode];
  if (!answer) return `status ${reply.statusCode} is not among ${Object.keys(answers).join(', ')}`;
  if ('headers' in answer && answer.headers?.includes('Location') && !reply.hasHeader('location')) return 'no Location';
  if (!answer.schema) return body === '' ? undefined : 'a body where none was expected';
  const validate = validatorOf(answer.schema);
  if (validate(JSON.parse(body))) return undefined;
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`).join('; ');
}
