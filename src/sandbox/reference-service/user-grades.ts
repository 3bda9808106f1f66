import type { FastifyInstance } from 'fastify';
import { notFound } from './failure.ts';
import { readInput } from './input.ts';
import { readPaging, sendPage } from './paging.ts';
import { idOf, paramsOf } from './request.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';

const json = 'reference_service.user_grade_json(g)';

/** Member grades (docs/interface.md, "User grades"): list, get, create, update, delete. */
export function userGrades(app: FastifyInstance, { store, now }: Service): void {
  app.get('/v1/user_grades', async (request, reply) => {
    const input = readInput(paramsOf(request));
    const paging = readPaging(input);
    const [counted] = await store.rows<{ total: number }>(
      'select count(*) as total from reference_service.user_grades',
    );
    const page = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.user_grades g order by g.id limit $1 offset $2`,
      [paging.limit, (paging.page - 1) * paging.limit],
    );
    sendPage(request, reply, { ...paging, total: counted?.total ?? 0 });
    return page.map((row) => row.body);
  });

  app.get('/v1/user_grades/:id', async (request) => {
    const id = idOf(request);
    const [row] = await store.rows<{ body: unknown }>(
      `select ${json} as body from reference_service.user_grades g where g.id = $1`,
      [id],
    );
    if (!row) throw notFound(`user grade ${id}`);
    return row.body;
  });

  app.post('/v1/user_grades', async (request, reply) => {
    const input = readInput(paramsOf(request));
    const name = input.text('name');
    const iconUrl = input.text('icon_url') ?? null;
    const [row] = await store.rows<{ body: unknown }>(
      `insert into reference_service.user_grades as g (name, icon_url, created_at, updated_at)
       values ($1, $2, $3, $3) returning ${json} as body`,
      [name, iconUrl, now()],
    );
    return reply.status(201).header('location', '/v1/user_grades').send(row?.body);
  });

  for (const method of ['PATCH', 'PUT'] as const) {
    app.route({
      method,
      url: '/v1/user_grades/:id',
      async handler(request, reply) {
        const id = idOf(request);
        const input = readInput(paramsOf(request));
        const fields: Fields = {};
        set(fields, 'name', input.text('name'));
        set(fields, 'icon_url', input.text('icon_url'));
        const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
        const [row] = await store.rows(`update reference_service.user_grades set ${sql} where id = $1 returning id`, [
          id,
          ...values,
        ]);
        if (!row) throw notFound(`user grade ${id}`);
        return reply.status(204).header('location', `/v1/user_grades/${id}`).send();
      },
    });
  }

  app.delete('/v1/user_grades/:id', async (request, reply) => {
    const id = idOf(request);
    const [row] = await store.rows('delete from reference_service.user_grades where id = $1 returning id', [id]);
    if (!row) throw notFound(`user grade ${id}`);
    return reply.status(204).send();
  });
}
