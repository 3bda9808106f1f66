import type { FastifyInstance } from 'fastify';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { readPaging, sendPage } from './paging.ts';
import { idOf, paramsOf } from './request.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';
import type { Store } from './store.ts';

const json = 'reference_service.category_json(c)';

/** Product categories (spec, "Categories"): list, get, create or update, update, delete; by id and by code. */
export function categories(app: FastifyInstance, { store, now }: Service): void {
  async function get(column: 'id' | 'code', key: unknown) {
    const [row] = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.categories c where c.${column} = $1`,
      [key],
    );
    if (!row) throw notFound(`category ${key}`);
    return row.body;
  }

  async function update(column: 'id' | 'code', key: unknown, params: Params): Promise<number> {
    return store.transaction(async (rows) => {
      const [found] = await rows<{ id: number }>(
        `select id from reference_service.categories where ${column} = $1 for update`,
        [key],
      );
      if (!found) throw notFound(`category ${key}`);
      const fields = await readFields(rows, params, []);
      if (column === 'code') delete fields.code;
      await refuseCycle(rows, found.id, fields.parent_category_id);
      const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
      await rows(`update reference_service.categories set ${sql} where id = $1`, [found.id, ...values]);
      return found.id;
    });
  }

  async function remove(column: 'id' | 'code', key: unknown): Promise<void> {
    const [row] = await store.rows(`delete from reference_service.categories where ${column} = $1 returning id`, [key]);
    if (!row) throw notFound(`category ${key}`);
  }

  app.get('/v1/categories', async (request, reply) => {
    const params = paramsOf(request);
    const input = readInput(params);
    if ('code' in params) {
      const code = input.required('code');
      input.check();
      return get('code', code);
    }
    const paging = readPaging(input);
    input.check();
    const [counted] = await store.rows<{ total: number }>('select count(*) as total from reference_service.categories');
    const page = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.categories c order by c.id limit $1 offset $2`,
      [paging.limit, (paging.page - 1) * paging.limit],
    );
    sendPage(request, reply, { ...paging, total: counted?.total ?? 0 });
    return page.map((row) => row.body);
  });

  app.get('/v1/categories/:id', async (request) => get('id', idOf(request)));

  app.post('/v1/categories', async (request, reply) => {
    const body = await store.transaction(async (rows) => {
      const fields = await readFields(rows, paramsOf(request), ['code', 'name']);
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
    return reply.status(201).header('location', '/v1/categories').send(body);
  });

  for (const method of ['PATCH', 'PUT'] as const) {
    app.route({
      method,
      url: '/v1/categories/:id',
      async handler(request, reply) {
        const id = await update('id', idOf(request), paramsOf(request));
        return reply.status(204).header('location', `/v1/categories/${id}`).send();
      },
    });
    app.route({
      method,
      url: '/v1/categories',
      async handler(request, reply) {
        const params = paramsOf(request);
        const input = readInput(params);
        const code = input.required('code');
        input.check();
        const id = await update('code', code, params);
        return reply.status(204).header('location', `/v1/categories/${id}`).send();
      },
    });
  }

  app.delete('/v1/categories/:id', async (request, reply) => {
    await remove('id', idOf(request));
    return reply.status(204).send();
  });

  app.delete('/v1/categories', async (request, reply) => {
    const input = readInput(paramsOf(request));
    const code = input.required('code');
    input.check();
    await remove('code', code);
    return reply.status(204).send();
  });
}

async function readFields(rows: Store['rows'], params: Params, required: readonly string[]): Promise<Fields> {
  const input = readInput(params);
  for (const name of required) input.required(name);
  const fields: Fields = {};
  for (const name of ['code', 'name'] as const) set(fields, name, input.filled(name));
  set(fields, 'status', input.oneOf('status', ['visible', 'hidden']) ?? undefined);
  const parentId = input.integer('parent_category_id', 1);
  const parentCode = input.text('parent_category_code');
  input.check();
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
