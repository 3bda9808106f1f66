import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type By, readRoutes, writeRoutes } from './coded-routes.ts';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { readPaging, sendPage } from './paging.ts';
import { paramsOf } from './request.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';

/** Orders (docs/interface.md, "Orders"): list, get, create or update, update, delete; by id and by code. */
export function orders(app: FastifyInstance, { store, now }: Service): void {
  const json = 'reference_service.order_json(o)';

  async function get(column: By, key: unknown) {
    const [row] = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.orders o where o.${column} = $1`,
      [key],
    );
    if (!row) throw notFound(`order ${key}`);
    return row.body;
  }

  async function update(column: By, key: unknown, params: Params): Promise<number> {
    const fields = readFields(params);
    await requireGrade(store, fields);
    return store.transaction(async (rows) => {
      const [before] = await rows<{ id: number; code: string }>(
        `select id, code from reference_service.orders where ${column} = $1 for update`,
        [key],
      );
      if (!before) throw notFound(`order ${key}`);
      const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
      await rows(`update reference_service.orders set ${sql} where id = $1`, [before.id, ...values]);
      if (fields.code !== undefined && fields.code !== before.code) {
        // The order's reviews name it by its code, and are deleted with it.
        await rows('update reference_service.reviews set order_code = $2, updated_at = $3 where order_code = $1', [
          before.code,
          fields.code,
          now(),
        ]);
      }
      return before.id;
    });
  }

  /** Reviews of the order are deleted with it. So are its sub-orders, with their reviews. */
  async function remove(column: By, key: unknown): Promise<void> {
    await store.transaction(async (rows) => {
      const [row] = await rows<{ code: string }>(
        `delete from reference_service.orders where ${column} = $1 returning code`,
        [key],
      );
      if (!row) throw notFound(`order ${key}`);
      await rows('delete from reference_service.reviews where order_code = $1', [row.code]);
    });
  }

  async function list(request: FastifyRequest, reply: FastifyReply) {
    const input = readInput(paramsOf(request));
    const paging = readPaging(input);
    const paidOn = input.text('paid_on') ?? null;
    const names = input.text('usernames')?.split(',') ?? null;
    const where = `($1::date is null or (o.created_at >= $1::date and o.created_at < $1::date + 1))
      and ($2::text[] is null or o.user_code = any($2) or o.user_name = any($2))`;
    const [counted] = await store.rows<{ total: number }>(
      `select count(*) as total from reference_service.orders o where ${where}`,
      [paidOn, names],
    );
    // First the keys, then the rows: otherwise the rows that the offset skips would be rendered too.
    const page = await store.rows<{ body: unknown }>(
      `with page as (
         select o.id from reference_service.orders o where ${where} order by o.created_at, o.id limit $3 offset $4
       )
       select reference_service.order_item_json(o) as body
       from page join reference_service.orders o using (id) order by o.created_at, o.id`,
      [paidOn, names, paging.limit, (paging.page - 1) * paging.limit],
    );
    sendPage(request, reply, { ...paging, total: counted?.total ?? 0 });
    return page.map((row) => row.body);
  }

  async function upsert(params: Params) {
    const fields = readFields(params);
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
    return row?.body;
  }

  readRoutes(app, '/v1/orders', { get, list });
  writeRoutes(app, '/v1/orders', { upsert, update, remove });
}

/** The columns that the parameters name. */
function readFields(params: Params): Fields {
  const input = readInput(params);
  const fields: Fields = {};
  set(fields, 'code', input.text('code'));
  set(fields, 'created_at', input.toTheSecond('created_at'));
  set(fields, 'total_price', input.text('total_price'));
  for (const name of ['user_code', 'user_name', 'user_phone', 'user_email', 'store_name']) {
    set(fields, name, input.text(name));
  }
  set(fields, 'user_grade_id', input.number('user_grade_id'));
  set(fields, 'order_device', input.text('order_device'));
  set(fields, 'mileage', input.number('mileage'));
  return fields;
}

async function requireGrade(store: Service['store'], fields: Fields): Promise<void> {
  if (typeof fields.user_grade_id !== 'number') return;
  const [known] = await store.rows('select 1 from reference_service.user_grades where id = $1', [fields.user_grade_id]);
  if (!known) throw new Failure(422, `user_grade_id: found ${fields.user_grade_id}, expected the id of a user grade`);
}
