import type { FastifyInstance } from 'fastify';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { readPaging, sendPage } from './paging.ts';
import { idOf, paramsOf } from './request.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';

/** Orders (spec, "Orders"): list, get, create or update, update, delete; by id and by code. */
export function orders(app: FastifyInstance, { store, now }: Service): void {
  const json = 'reference_service.order_json(o)';

  async function get(column: 'id' | 'code', key: unknown) {
    const [row] = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.orders o where o.${column} = $1`,
      [key],
    );
    if (!row) throw notFound(`order ${key}`);
    return row.body;
  }

  async function update(column: 'id' | 'code', key: unknown, fields: Fields): Promise<number> {
    const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
    const [row] = await store.rows<{ id: number }>(
      `update reference_service.orders set ${sql} where ${column} = $1 returning id`,
      [key, ...values],
    );
    if (!row) throw notFound(`order ${key}`);
    return row.id;
  }

  /** Reviews of the order go along, and so do its sub-orders with theirs. */
  async function remove(column: 'id' | 'code', key: unknown): Promise<void> {
    await store.transaction(async (rows) => {
      const [row] = await rows<{ code: string }>(
        `delete from reference_service.orders where ${column} = $1 returning code`,
        [key],
      );
      if (!row) throw notFound(`order ${key}`);
      await rows('delete from reference_service.reviews where order_code = $1', [row.code]);
    });
  }

  app.get('/v1/orders', async (request, reply) => {
    const params = paramsOf(request);
    const input = readInput(params);
    if ('code' in params) {
      const code = input.required('code');
      input.check();
      return get('code', code);
    }
    const paging = readPaging(input);
    const paidOn = input.day('paid_on') ?? null;
    const names = input.text('usernames')?.split(',') ?? null;
    input.check();
    const where = `($1::date is null or (o.created_at >= $1::date and o.created_at < $1::date + 1))
      and ($2::text[] is null or o.user_code = any($2) or o.user_name = any($2))`;
    const [counted] = await store.rows<{ total: number }>(
      `select count(*) as total from reference_service.orders o where ${where}`,
      [paidOn, names],
    );
    const page = await store.rows<{ body: unknown }>(
      `select reference_service.order_item_json(o) as body from reference_service.orders o
       where ${where} order by o.created_at, o.id limit $3 offset $4`,
      [paidOn, names, paging.limit, (paging.page - 1) * paging.limit],
    );
    sendPage(request, reply, { ...paging, total: counted?.total ?? 0 });
    return page.map((row) => row.body);
  });

  app.get('/v1/orders/:id', async (request) => get('id', idOf(request)));

  app.post('/v1/orders', async (request, reply) => {
    const params = paramsOf(request);
    const fields = readFields(params, ['code', 'created_at', 'total_price']);
    await requireGrade(store, fields);
    const all: Fields = { ...fields, updated_at: now() };
    const columns = Object.keys(all);
    const { sql } = assignments(all, 0);
    const [row] = await store.rows<{ body: unknown }>(
      `insert into reference_service.orders as o (${columns.join(', ')})
       values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
       on conflict (code) do update set ${sql}
       returning ${json} as body`,
      Object.values(all),
    );
    return reply.status(201).header('location', '/v1/orders').send(row?.body);
  });

  for (const method of ['PATCH', 'PUT'] as const) {
    app.route({
      method,
      url: '/v1/orders/:id',
      async handler(request, reply) {
        const fields = readFields(paramsOf(request), []);
        await requireGrade(store, fields);
        const id = await update('id', idOf(request), fields);
        return reply.status(204).header('location', `/v1/orders/${id}`).send();
      },
    });
    app.route({
      method,
      url: '/v1/orders',
      async handler(request, reply) {
        const { code, ...fields } = readFields(paramsOf(request), ['code']);
        await requireGrade(store, fields);
        const id = await update('code', code, fields);
        return reply.status(204).header('location', `/v1/orders/${id}`).send();
      },
    });
  }

  app.delete('/v1/orders/:id', async (request, reply) => {
    await remove('id', idOf(request));
    return reply.status(204).send();
  });

  app.delete('/v1/orders', async (request, reply) => {
    const input = readInput(paramsOf(request));
    const code = input.required('code');
    input.check();
    await remove('code', code);
    return reply.status(204).send();
  });
}

/** The columns that the parameters name. @throws Failure 422 with all that is wrong. */
function readFields(params: Params, required: readonly string[]): Fields {
  const input = readInput(params);
  for (const name of required) input.required(name);
  const fields: Fields = {};
  set(fields, 'code', input.text('code'));
  // "significant only to the second" (spec, conventions)
  set(fields, 'created_at', input.moment('created_at')?.replace(/\.\d+/, ''));
  set(fields, 'total_price', input.amount('total_price'));
  for (const name of ['user_code', 'user_name', 'user_phone', 'user_email', 'store_name']) {
    set(fields, name, input.text(name));
  }
  set(fields, 'user_grade_id', input.integer('user_grade_id', 1));
  set(fields, 'order_device', input.oneOf('order_device', ['pc', 'mobile']));
  set(fields, 'mileage', input.integer('mileage', -2_147_483_648, 2_147_483_647));
  for (const name of ['code', 'created_at', 'total_price']) input.filled(name);
  input.check();
  return fields;
}

async function requireGrade(store: Service['store'], fields: Fields): Promise<void> {
  if (typeof fields.user_grade_id !== 'number') return;
  const [known] = await store.rows('select 1 from reference_service.user_grades where id = $1', [fields.user_grade_id]);
  if (!known) throw new Failure(422, `user_grade_id: found ${fields.user_grade_id}, expected the id of a user grade`);
}
