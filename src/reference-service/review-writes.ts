import type { FastifyInstance } from 'fastify';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { productId } from './products.ts';
import { idOf, paramsOf } from './request.ts';
import { fromReviews, singleReview } from './reviews.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';
import type { Store } from './store.ts';

/** Writing reviews (spec, "Create or update a review", "Update by id", "Update by code", "Delete"). */
export function reviewWrites(app: FastifyInstance, service: Service): void {
  const { store, now, options } = service;

  app.post('/v1/reviews', async (request, reply) => {
    const params = paramsOf(request);
    const body = await store.transaction(async (rows) => {
      const fields = await readFields(service, rows, params, { emptyScore: true });
      const all: Fields = { created_at: now(), ...fields, updated_at: now(), made_by: options.clientId };
      const columns = Object.keys(all);
      const { sql } = assignments(fields, 0);
      const places = columns.map((_, index) => `$${index + 1}`);
      const updates = Object.keys({ ...fields, updated_at: true }).map((name) => `${name} = excluded.${name}`);
      const conflict = sql === '' ? '' : `on conflict (code) do update set ${updates.join(', ')}`;
      const [written] = await rows<{ id: number }>(
        `insert into reference_service.reviews (${columns.join(', ')}) values (${places.join(', ')}) ${conflict} returning id`,
        Object.values(all),
      );
      const [row] = await rows<{ body: unknown }>(
        `select ${singleReview} as body from ${fromReviews} where r.id = $1`,
        [written?.id],
      );
      return row?.body;
    });
    return reply.status(201).header('location', '/v1/reviews').send(body);
  });

  async function update(column: 'id' | 'code', key: unknown, params: Params): Promise<number> {
    return store.transaction(async (rows) => {
      const fields = await readFields(service, rows, params, { emptyScore: column === 'id' });
      delete fields.code;
      if (column === 'code') delete fields.product_options;
      const { sql, values } = assignments({ ...fields, updated_at: now() }, 1);
      const [row] = await rows<{ id: number }>(
        `update reference_service.reviews set ${sql} where ${column} = $1 returning id`,
        [key, ...values],
      );
      if (!row) throw notFound(`review ${key}`);
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
      if (row.made_by !== options.clientId) throw new Failure(403, 'this review was not created by this API user');
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

async function readFields(
  { now, options }: Service,
  rows: Store['rows'],
  params: Params,
  rules: { emptyScore: boolean },
): Promise<Fields> {
  const input = readInput(params);
  if ('code' in params) input.required('code');
  const fields: Fields = {};
  set(fields, 'code', input.text('code') ?? undefined);
  set(fields, 'created_at', input.moment('created_at')?.replace(/\.\d+/, '') ?? undefined);
  const message = input.text('message');
  set(fields, 'message', message === null ? '' : message);
  const score = input.integer('score', 1, 5);
  if (score === null && !rules.emptyScore) input.refuse('score: found an empty value, expected 1 to 5');
  set(fields, 'score', score);
  for (const name of ['user_code', 'user_name', 'tag_name']) set(fields, name, input.text(name));
  set(fields, 'display', input.flag('display'));
  const productOptions = input.options('product_options');
  set(fields, 'product_options', productOptions && JSON.stringify(productOptions));
  const urls = input.list('image_urls', 4);
  if (urls) fields.pending_images = pendingImages(urls.map(String), now());
  const items = input.list('options', 100);
  if (items && options.reviewOptionsForm === 'v2') {
    input.refuse('options: cannot be used in a shop of the v2 additional-information model');
  }
  if (items) fields.options = JSON.stringify(readOptionItems(items, (reason) => input.refuse(reason)));
  const product = { id: input.integer('product_id', 1), code: input.text('product_code') };
  input.check();
  const id = await productId(rows, product);
  if (id !== null) fields.product_id = id;
  return fields;
}

function readOptionItems(items: readonly unknown[], refuse: (reason: string) => void): unknown[] {
  return items.map((item, index) => {
    const given = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>;
    const read = readInput(given);
    const type = read.integer('review_option_type_id', 1);
    const value = read.required('value');
    const createdAt = read.moment('created_at');
    for (const name of ['review_option_type_id', 'created_at', 'value']) {
      if (given[name] === undefined || given[name] === '') refuse(`options[${index}].${name}: is missing`);
    }
    return { id: index + 1, review_option_type_id: type, value, created_at: createdAt, updated_at: createdAt };
  });
}

function pendingImages(urls: readonly string[], now: Date): string {
  const size = (name: string, pixels: number) => ({ [`${name}width`]: pixels, [`${name}height`]: pixels });
  const images = urls.map((url) => ({
    url,
    gallery_url: `${url}?size=gallery`,
    portrait_url: `${url}?size=portrait`,
    thumbnail_url: `${url}?size=thumbnail`,
    ...size('', 1080),
    ...size('gallery_', 720),
    ...size('portrait_', 480),
    ...size('thumbnail_', 160),
  }));
  return JSON.stringify({ from: new Date(now.getTime() + 1000).toISOString(), images });
}
