import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type By, readRoutes, writeRoutes } from './coded-routes.ts';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { readPaging, sendPage } from './paging.ts';
import { paramsOf } from './request.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';
import type { Store } from './store.ts';

const json = 'reference_service.category_json(c)';
/** One writer at a time: if two both look before either has written, they could make a cycle, which has no depth. */
const lockSql = `select pg_advisory_xact_lock(hashtext('reference_service.categories'))`;

/**
 * Product categories (docs/interface.md, "Categories"): list, get, create or update, update, delete; by id and by code.
 */
export function categories(app: FastifyInstance, { store, now }: Service): void {
  async function get(column: By, key: unknown) {
    const [row] = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.categories c where c.${column} = $1`,
      [key],
    );
    if (!row) throw notFound(`category ${key}`);
    return row.body;
  }

  async function update(column: By, key: unknown, params: Params): Promise<number> {
    return store.transaction(async (rows) => {
      await rows(lockSql);
      const [found] = await rows<{ id: number }>(
        `select id from reference_service.categories where ${column} = $1 for update`,
        [key],
      );
      if (!found) throw notFound(`category ${key}`);
      const fields = await readFields(rows, params);
      if (column === 'code') delete fields.code;
      await refuseCycle(rows, found.id, fields.parent_category_id);
      const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
      await rows(`update reference_service.categories set ${sql} where id = $1`, [found.id, ...values]);
      return found.id;
    });
  }

  async function remove(column: By, key: unknown): Promise<void> {
    const [row] = await store.rows(`delete from reference_service.categories where ${column} = $1 returning id`, [key]);
    if (!row) throw notFound(`category ${key}`);
  }

  async function list(request: FastifyRequest, reply: FastifyReply) {
    const paging = readPaging(readInput(paramsOf(request)));
    const [counted] = await store.rows<{ total: number }>('select count(*) as total from reference_service.categories');
    const page = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.categories c order by c.id limit $1 offset $2`,
      [paging.limit, (paging.page - 1) * paging.limit],
    );
    sendPage(request, reply, { ...paging, total: counted?.total ?? 0 });
    return page.map((row) => row.body);
  }

  async function upsert(params: Params): Promise<unknown> {
    return store.transaction(async (rows) => {
      await rows(lockSql);
      const fields = await readFields(rows, params);
      const [known] = await rows<{ id: number }>('select id from reference_service.categories where code = $1', [
        fields.code,
      ]);
      if (known) await refuseCycle(rows, known.id, fields.parent_category_id);
      const all: Fields = { ...fields, created_at: now(), updated_at: now() };
      const columns = Object.keys(all);
      const { created_at: _, ...changed } = all;
      const changes = Object.keys(changed).map((name) => `${name} = excluded.${name}`);
      const [row] = await rows<{ body: unknown }>(
        `insert into reference_service.categories as c (${columns.join(', ')})
         values (${columns.map((_name, index) => `$${index + 1}`).join(', ')})
         on conflict (code) do update set ${changes.join(', ')}
         returning ${json} as body`,
        Object.values(all),
      );
      return row?.body;
    });
  }

  readRoutes(app, '/v1/categories', { get, list });
  writeRoutes(app, '/v1/categories', { upsert, update, remove });
}

async function readFields(rows: Store['rows'], params: Params): Promise<Fields> {
  const input = readInput(params);
  const fields: Fields = {};
  for (const name of ['code', 'name'] as const) set(fields, name, input.text(name));
  set(fields, 'status', input.text('status') ?? undefined);
  const parentId = input.number('parent_category_id');
  const parentCode = input.text('parent_category_code');
  if (typeof parentId === 'number' || typeof parentCode === 'string') {
    const [column, key] = typeof parentId === 'number' ? ['id', parentId] : ['code', parentCode];
    const [parent] = await rows<{ id: number }>(`select id from reference_service.categories where ${column} = $1`, [
      key,
    ]);
    if (!parent) throw new Failure(422, `parent_category_${column}: found ${key}, expected a category that exists`);
    fields.parent_category_id = parent.id;
  } else if (parentId === null || parentCode === null) {
    fields.parent_category_id = null;
  }
  return fields;
}

async function refuseCycle(rows: Store['rows'], id: number, parentId: unknown): Promise<void> {
  if (typeof parentId !== 'number') return;
  const [found] = await rows(
    `with recursive above as (
       select c.id, c.parent_category_id from reference_service.categories c where c.id = $1
       union
       select c.id, c.parent_category_id from reference_service.categories c join above a on c.id = a.parent_category_id
     )
     select 1 from above where id = $2`,
    [parentId, id],
  );
  if (found)
    throw new Failure(422, `parent_category_id: found ${parentId}, expected a category that is not below this one`);
}
