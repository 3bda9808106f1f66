import { created, type Method, type Operation, one, page, ref, removed, updated } from './operation.ts';
import { filled, integer, type Params } from './params.ts';

/**
 * A resource that is addressed by the service's id and by the shop's code alike (docs/interface.md, "What the service
 * does", 2).
 */
export type CodedResource = {
  path: string;
  tag: string;
  /** As in "Create or update an order". */
  noun: string;
  /** The names of its schemas. */
  item: string;
  detail: string;
  filters: Params;
  mostPages?: number;
  creation: Params;
  required: readonly string[];
  changeById: Params;
  changeByCode: Params;
};

export const paging = (mostPages?: number): Params => ({
  limit: integer('Page size, default 30.', { minimum: 1, maximum: 100 }),
  page: integer('Page number, default 1.', { minimum: 1, ...(mostPages !== undefined && { maximum: mostPages }) }),
});

/** What the spec's "PUT" and "PATCH" share: they differ in nothing here (src/sandbox/reference-service/README.md). */
export const changing = ['PATCH', 'PUT'] as const;

/** All operations of such a resource, in the order of the spec. */
export function codedResource(resource: CodedResource): Operation[] {
  const { path, tag, noun, item, detail } = resource;
  const code = filled(`The shop's code of the ${noun}.`);
  const named = (verb: string, by = '') => `${verb}${detail}${by}`;
  const change = (method: Method): Operation[] => [
    {
      id: named(method === 'PUT' ? 'put' : 'update'),
      method,
      path: `${path}/:id`,
      tag,
      summary: `Update by id`,
      params: resource.changeById,
      answers: { 204: updated },
    },
    {
      id: named(method === 'PUT' ? 'put' : 'update', 'ByCode'),
      method,
      path,
      tag,
      summary: `Update by code`,
      params: { ...resource.changeByCode, code },
      required: ['code'],
      answers: { 204: updated },
    },
  ];
  return [
    {
      id: named('list', 's').replace(/ys$/, 'ies'),
      method: 'GET',
      path,
      tag,
      summary: `List; with code, get the one ${noun} of that code`,
      params: { ...paging(resource.mostPages), ...resource.filters, code },
      answers: {
        200: {
          description: 'One page; with code the record alone, without Link.',
          schema: { oneOf: [{ type: 'array', items: ref(item) }, ref(detail)] },
          headers: ['Link'],
        },
      },
    },
    {
      id: named('get'),
      method: 'GET',
      path: `${path}/:id`,
      tag,
      summary: 'Get by id',
      params: {},
      answers: { 200: one(detail) },
    },
    {
      id: named('upsert'),
      method: 'POST',
      path,
      tag,
      summary: 'Create, or update the one of that code',
      params: resource.creation,
      required: resource.required,
      answers: { 201: created(detail) },
    },
    ...changing.flatMap(change),
    {
      id: named('delete'),
      method: 'DELETE',
      path: `${path}/:id`,
      tag,
      summary: 'Delete by id',
      params: {},
      answers: { 204: removed },
    },
    {
      id: named('delete', 'ByCode'),
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete by code',
      params: { code },
      required: ['code'],
      answers: { 204: removed },
    },
  ];
}

/** A resource's list without codes. */
export const listOperation = (operation: Pick<Operation, 'id' | 'path' | 'tag'>, item: string): Operation => ({
  ...operation,
  method: 'GET',
  summary: 'List',
  params: paging(),
  answers: { 200: page(item) },
});
