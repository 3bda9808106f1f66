import { isSameCode } from '../../base/codes.ts';
import type { CallOptions, HttpResponse, Params, Send } from '../http/call.ts';
import { ignoreBody, parseJson, reading, wasThere, withSameId } from '../http/decode.ts';
import { integer, list, readShape, record, type Shape, ShapeError, textOrNull } from '../http/shape.ts';
import { MalformedResponseError, PageLimitError } from '../review-api-errors.ts';

/** A kind of record at the service. */
type Resource<Item, Patch> = {
  /** The path of the collection. */
  path: string;
  shape: Shape<Item>;
  /** Gets each record as it came. */
  onBody?: (body: unknown) => void;
  /** The fields of an update as parameters. */
  params: (patch: Patch) => Params;
};

/** The operations on one record by the service's id. */
export function operationsById<Item extends { id: number }, Patch>(
  send: Send,
  { path, shape, params, onBody }: Resource<Item, Patch>,
) {
  const pathOf = (id: number) => `${path}/${requireId(id)}`;
  const read = reading(shape, onBody);
  return {
    /**
     * The record with this id of the service (docs/interface.md, "Read one").
     *
     * @throws NotFoundError if the service has no such record.
     */
    async get(id: number, options: CallOptions = {}): Promise<Item> {
      const call = { method: 'GET', path: pathOf(id), isOfNow: true, ...options } as const;
      return send(call, (response) => withSameId(read(response), id));
    },

    /**
     * Changes these fields, the code included; a field that is left out stays unchanged. Safe to repeat.
     *
     * @throws NotFoundError if the service has no such record.
     * @throws UnknownOutcomeError if the service does not say that it carried the update out, such as with 202.
     * @example await api.categories.update(7, { name: 'Shoes' });
     */
    async update(id: number, patch: Patch, options: CallOptions = {}): Promise<void> {
      return send({ method: 'PATCH', path: pathOf(id), params: coded(params(patch)), ...options }, ignoreBody);
    },

    /** `update` by PUT (docs/interface.md). The fields are part of the address, which proxies may log or refuse. */
    async put(id: number, patch: Patch, options: CallOptions = {}): Promise<void> {
      return send({ method: 'PUT', path: pathOf(id), params: coded(params(patch)), ...options }, ignoreBody);
    },

    /**
     * Deletes the record permanently, an order with its sub-orders, reviews and send records. If the record does not
     * exist, that is a success.
     *
     * @returns whether the service had it.
     * @throws RefusedError if this API user may not delete it: a review that another partner created.
     */
    async remove(id: number, options: CallOptions = {}): Promise<boolean> {
      return send({ method: 'DELETE', path: pathOf(id), ...options }, wasThere);
    },
  };
}

/** `operationsById`, and operations on one record by the shop's code, on the path of the collection. */
export function operationsByCode<
  Item extends { id: number; code: string | null },
  Patch,
  Body extends Patch & { code: string },
>(send: Send, resource: Resource<Item, Patch>) {
  const { path, shape, params, onBody } = resource;
  const byId = operationsById(send, resource);
  const read = reading(shape, onBody);
  return {
    ...byId,
    /**
     * The record that the service shows for this code of the shop. Compare its code: a service may hold two codes for
     * one record. If the service responds with a list, the record is read by the id that the list shows; codes are
     * compared without spaces around them and without case, as services do.
     *
     * @throws NotFoundError if the service has no such record.
     * @throws MalformedResponseError if the list lacks the code.
     */
    async getByCode(code: string, options: CallOptions = {}): Promise<Item> {
      const call = { method: 'GET', path, params: { code: requireCode(code) }, isOfNow: true, ...options } as const;
      const found = await send(call, (response) => (isList(response) ? idIn(response, code) : read(response)));
      return typeof found === 'number' ? byId.get(found, options) : found;
    },

    /** Changes these fields of the record with this code. @throws NotFoundError if the service has no such record. */
    async updateByCode(code: string, patch: Omit<Patch, 'code'>, options: CallOptions = {}): Promise<void> {
      const fields = { ...params(patch as Patch), code: requireCode(code) };
      return send({ method: 'PATCH', path, params: fields, ...options }, ignoreBody);
    },

    /** `remove` by the shop's code. */
    async removeByCode(code: string, options: CallOptions = {}): Promise<boolean> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, ...options }, wasThere);
    },

    /**
     * Creates the record, or updates the record with this code. Safe to repeat.
     *
     * @returns the record of the response. Compare its code: a service may hold two codes for one record.
     * @throws RefusedError if the service does not accept a field.
     * @example await api.orders.upsert({ code: 'A-1', created_at: '2026-01-31T09:00:00+09:00', total_price: '12.50' });
     */
    async upsert(body: Body, options: CallOptions = {}): Promise<Item> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: params(body), ...options }, read);
    },
  };
}

const codedList = list(record({ id: integer, code: textOrNull }));

const isList = ({ bytes }: HttpResponse) => bytes.toString('utf8', 0, 100).trimStart().startsWith('[');

function idIn(response: HttpResponse, code: string): number {
  const items = readShape(codedList, parseJson(response));
  const item = items.find((one) => one.code === code) ?? items.find((one) => one.code && isSameCode(one.code, code));
  if (item) return item.id;
  throw new ShapeError('expected the record with this code, got a list without it');
}

/** One page of a list. `lastPage` is undefined if the response has no `Link` header. */
export type Page<Item> = { items: Item[]; lastPage: number | undefined };

/** Which page of a list: `page` from 1, the default, of `limit` items, 1 to 100, default 100. */
export type Paging = { limit?: number | undefined; page?: number | undefined };

/** A kind of list. `mostPages`: the highest page number that the service serves. */
type List<Item> = { path: string; shape: Shape<Item>; mostPages?: number };

/** The list of a kind of record. @param query the filters as parameters. */
export function listOperations<Item extends { id: number }, Filters = unknown>(
  send: Send,
  { path, shape, mostPages }: List<Item>,
  query: (params: Filters & Paging) => Params,
) {
  const items = list(shape);
  const read = (response: HttpResponse): Page<Item> => ({
    items: readShape(items, parseJson(response)),
    lastPage: lastPage(response.headers.link),
  });
  const fetchPage = async (params: Filters & Paging): Promise<Page<Item>> => {
    const { limit = 100, page = 1 } = params;
    return send({ method: 'GET', path, params: { limit, page, ...query(params) } }, read);
  };
  return {
    /**
     * One page of the list.
     *
     * @throws TypeError for an empty filter, before anything is sent.
     * @example const { items, lastPage } = await api.orders.list({ paid_on: '2026-01-31', page: 2 });
     */
    list: (params = {} as Filters & Paging) => fetchPage(params),

    /**
     * All pages of the list, one request each. If a record is added or deleted meanwhile, others shift between pages,
     * and the same `id` may come twice.
     *
     * @throws MalformedResponseError if the service ignores the page parameter and has more than one page.
     * @throws PageLimitError after page 30 of reviews, unless that page is surely the last: it is empty, or it is short
     *   and has no `Link` header. Services name page 30 as the last of any longer list (docs/service-facts.md).
     * @example for await (const { items } of api.categories.listAll()) names.push(...items.map(({ name }) => name));
     */
    async *listAll(params = {} as Filters & Omit<Paging, 'page'>): AsyncGenerator<Page<Item>, void, undefined> {
      const { limit = 100 } = params;
      let before = '';
      for (let number = 1; ; number += 1) {
        const page = await fetchPage({ ...params, page: number });
        const ids = page.items.map((item) => item.id).join();
        const detail = `page ${number} repeats the page before it`;
        if (ids !== '' && ids === before) throw new MalformedResponseError({ method: 'GET', path, detail });
        yield page;
        if (ids === '' || (page.lastPage === undefined && page.items.length < limit)) return;
        if (number === mostPages) throw new PageLimitError({ method: 'GET', path });
        if (page.lastPage !== undefined && number >= page.lastPage) return;
        before = ids;
      }
    },
  };
}

/**
 * The page number of the entry `last` of a `Link` header, or undefined without such an entry. The rest of the header is not
 * used: services send raw commas inside a target, targets without their `?`, and a `next` that points at itself
 * (docs/service-facts.md). So the header is never split on commas, and a target is never followed.
 */
export function lastPage(header: string | undefined): number | undefined {
  for (const [, target = '', attributes = ''] of header?.matchAll(/<([^<>]*)>([^<>]*)/g) ?? []) {
    if (!/;\s*rel\s*=\s*(?:"\s*(?:[^"]*\s)?last(?:\s[^"]*)?"|last(?=[\s;,]|$))/i.test(attributes)) continue;
    const page = /[?&;]page=(\d{1,9})(?=[&;#]|$)/.exec(target)?.[1];
    // A page of 0 is ignored: an empty list is recognised by its items.
    return page === undefined || Number(page) < 1 ? undefined : Number(page);
  }
  return undefined;
}

/** Rejects an empty code. The same path serves the collection, so the request would list or delete something else. */
export function requireCode(code: unknown, what = 'code'): string {
  if (typeof code === 'string' && code.trim() !== '') return code;
  throw new TypeError(`expected a ${what} that is not empty, got ${JSON.stringify(code)}`);
}

/** The fields of a record. The code may be left out, but must not be empty. */
export const coded = (params: Params): Params =>
  params.code === undefined ? params : { ...params, code: requireCode(params.code) };

/** An id is part of a path, so it must be a positive integer. */
export function requireId(id: number, what = 'id'): number {
  if (Number.isSafeInteger(id) && id >= 1) return id;
  throw new TypeError(`expected ${what} to be a positive integer, got ${JSON.stringify(id)}`);
}

/**
 * An amount as it is sent, in decimal text in whole units of the currency: floating point would lose cents. Zeros
 * beyond the cents are left out: Postgres writes 1234 / 100.0 as `12.3400000000000000`.
 */
export function sentAmount(amount: string, what: string): string {
  if (typeof amount !== 'string' || !/^-?\d+(\.\d+)?$/.test(amount))
    throw new TypeError(`expected ${what} as decimal text such as "12.50"`);
  return amount.replace(/(\.\d\d\d*?)0+$/, '$1');
}

/** Options in the format of the service, `<key>:<value>` each. */
export const optionPairs = (options: Readonly<Record<string, string>> | undefined): string[] | undefined =>
  options && Object.entries(options).map(([key, value]) => `${key}:${value}`);
