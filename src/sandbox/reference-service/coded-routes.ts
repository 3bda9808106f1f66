import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { codeOf, type Params } from './input.ts';
import { idOf, paramsOf } from './request.ts';

/**
 * What identifies a record: the service's id in the path, or the shop's code in the parameters (docs/interface.md,
 * "What the service does", 2).
 */
export type By = 'id' | 'code';

type Reads = {
  get(by: By, key: unknown): Promise<unknown>;
  list(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
};

/** `GET <path>`, which returns one record if it has a code, and `GET <path>/:id`. */
export function readRoutes(app: FastifyInstance, path: string, { get, list }: Reads): void {
  app.get(path, async (request, reply) => {
    const params = paramsOf(request);
    return 'code' in params ? get('code', codeOf(params)) : list(request, reply);
  });
  app.get(`${path}/:id`, async (request) => get('id', idOf(request)));
}

type Writes = {
  /** Creates the record, or updates the record with that code. Returns its detail. */
  upsert(params: Params): Promise<unknown>;
  /** Returns the id. */
  update(by: By, key: unknown, params: Params): Promise<number>;
  remove(by: By, key: unknown): Promise<void>;
};

/**
 * POST, PATCH, PUT and DELETE, by id and by code, with the statuses and the `Location` of the spec (conventions, 5).
 */
export function writeRoutes(app: FastifyInstance, path: string, { upsert, update, remove }: Writes): void {
  app.post(path, async (request, reply) => {
    const body = await upsert(paramsOf(request));
    return reply.status(201).header('location', path).send(body);
  });
  const variants = [
    { url: `${path}/:id`, by: 'id', keyOf: (request: FastifyRequest) => idOf(request) },
    { url: path, by: 'code', keyOf: (request: FastifyRequest) => codeOf(paramsOf(request)) },
  ] as const;
  for (const { url, by, keyOf } of variants) {
    for (const method of ['PATCH', 'PUT'] as const) {
      app.route({
        method,
        url,
        async handler(request, reply) {
          const id = await update(by, keyOf(request), paramsOf(request));
          return reply.status(204).header('location', `${path}/${id}`).send();
        },
      });
    }
    app.delete(url, async (request, reply) => {
      await remove(by, keyOf(request));
      return reply.status(204).send();
    });
  }
}
