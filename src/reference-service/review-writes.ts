import type { FastifyInstance } from 'fastify';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { type ProductKey, productId } from './products.ts';
import { idOf, paramsOf } from './request.ts';
import { readImages } from './review-images.ts';
import { type ReviewOption, readReviewOptions, writeReviewOptions } from './review-options.ts';
import { fromReviews, singleReview } from './reviews.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';
import type { Store } from './store.ts';

/** Writing reviews (spec, "Create or update a review", "Update by id", "Update by code", "Delete"). */
export function reviewWrites(app: FastifyInstance, service: Service): void {
  const { store, now, options } = service;

  app.post('/v1/reviews', async (request, reply) => {
    const read = readWrite(service, paramsOf(request), 'create');
    const body = await store.transaction(async (rows) => {
      const fields = await columnsOf(rows, read);
      const all: Fields = { created_at: now(), ...fields, updated_at: now(), made_by: options.clientId };
      const columns = Object.keys(all);
      const places = columns.map((_, index) => `$${index + 1}`);
      const updates = Object.keys({ ...fields, updated_at: true }).map((name) => `${name} = excluded.${name}`);
      const [written] = await rows<{ id: number }>(
        `insert into reference_service.reviews (${columns.join(', ')}) values (${places.join(', ')})
         on conflict (code) do update set ${updates.join(', ')} returning id`,
        Object.values(all),
      );
      const id = written?.id ?? 0;
      if (read.items) await writeReviewOptions(rows, { reviewId: id, items: read.items, now: now() });
      const [row] = await rows<{ body: unknown }>(
        `select ${singleReview} as body from ${fromReviews} where r.id = $1`,
        [id],
      );
      return row?.body;
    });
    return reply.status(201).header('location', '/v1/reviews').send(body);
  });

  async function update(column: 'id' | 'code', key: unknown, params: Params): Promise<number> {
    const read = readWrite(service, params, column);
    return store.transaction(async (rows) => {
      const fields = await columnsOf(rows, read);
      const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
      const [row] = await rows<{ id: number }>(
        `update reference_service.reviews set ${sql} where ${column} = $1 returning id`,
        [key, ...values],
      );
      if (!row) throw notFound(`review ${key}`);
      if (read.items) await writeReviewOptions(rows, { reviewId: row.id, items: read.items, now: now() });
      return row.id;
    });
  }

  /** "A partner account can delete only data created by that partner's own API user." */
  async function remove(column: 'id' | 'code', key: unknown): Promise<void> {
    await store.transaction(async (rows) => {
      const [row] = await rows<{ made_by: string | null }>(
        `delete from reference_service.reviews where ${column} = $1 returning made_by`,
        [key],
      );
      if (!row) throw notFound(`review ${key}`);
      if (options.partner && row.made_by !== options.clientId) {
        throw new Failure(403, 'this review was not created by this API user');
      }
    });
  }

  for (const method of ['PATCH', 'PUT'] as const) {
    app.route({
      method,
      url: '/v1/reviews/:id',
      async handler(request, reply) {
        const id = await update('id', idOf(request), paramsOf(request));
        return reply.status(204).header('location', `/v1/reviews/${id}`).send();
      },
    });
    app.route({
      method,
      url: '/v1/reviews',
      async handler(request, reply) {
        const params = paramsOf(request);
        const input = readInput(params);
        const code = input.required('code');
        input.check();
        const id = await update('code', code, params);
        return reply.status(204).header('location', `/v1/reviews/${id}`).send();
      },
    });
  }

  app.delete('/v1/reviews/:id', async (request, reply) => {
    await remove('id', idOf(request));
    return reply.status(204).send();
  });

  app.delete('/v1/reviews', async (request, reply) => {
    const input = readInput(paramsOf(request));
    const code = input.required('code');
    input.check();
    await remove('code', code);
    return reply.status(204).send();
  });
}

type Write = { fields: Fields; product: ProductKey; items: ReviewOption[] | undefined };

/** What a write asks for; the three kinds take a little less each. @throws Failure 422 with all that is wrong. */
function readWrite(service: Service, params: Params, kind: 'create' | 'id' | 'code'): Write {
  const input = readInput(params);
  const fields: Fields = {};
  if (kind === 'create') {
    set(fields, 'code', input.filled('code'));
    set(fields, 'tag_name', input.text('tag_name'));
    set(fields, 'source_url', input.text('review_source_url'));
  }
  // "significant only to the second" (spec, conventions)
  set(fields, 'created_at', input.moment('created_at')?.replace(/\.\d+/, ''));
  const message = input.text('message');
  set(fields, 'message', message === null ? '' : message);
  const score = input.integer('score', 1, 5);
  if (score === null && kind === 'code') input.refuse('score: found an empty value, expected 1 to 5');
  set(fields, 'score', score);
  for (const name of ['user_code', 'user_name']) set(fields, name, input.text(name));
  set(fields, 'display', input.flag('display'));
  const productOptions = kind === 'code' ? undefined : input.options('product_options');
  set(fields, 'product_options', productOptions && JSON.stringify(productOptions));
  set(fields, 'pending_images', readImages(input, service.now()));
  const items = readReviewOptions(input, service);
  const product = { id: input.integer('product_id', 1), code: input.text('product_code') };
  input.check();
  return { fields, product, items };
}

/** The columns to write; a product that is named for the first time is made. */
async function columnsOf(rows: Store['rows'], { fields, product }: Write): Promise<Fields> {
  const id = await productId(rows, product);
  return id === null ? fields : { ...fields, product_id: id };
}
