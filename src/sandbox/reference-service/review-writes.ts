import type { FastifyInstance } from 'fastify';
import { type By, writeRoutes } from './coded-routes.ts';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { type ProductKey, productId } from './products.ts';
import { readImages } from './review-images.ts';
import { type ReviewOption, readReviewOptions, writeReviewOptions } from './review-options.ts';
import { fromReviews, singleReview } from './reviews.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';
import type { Store } from './store.ts';

/** Writing reviews (docs/interface.md, "Reviews"). */
export function reviewWrites(app: FastifyInstance, service: Service): void {
  const { store, now, options } = service;

  async function upsert(params: Params): Promise<unknown> {
    const read = readWrite(service, params, 'create');
    return store.transaction(async (rows) => {
      const fields = await columnsOf(rows, read, now());
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
        `select ${singleReview(service)} as body from ${fromReviews} where r.id = $1`,
        [id],
      );
      return row?.body;
    });
  }

  async function update(column: By, key: unknown, params: Params): Promise<number> {
    const read = readWrite(service, params, column);
    return store.transaction(async (rows) => {
      const fields = await columnsOf(rows, read, now());
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
  async function remove(column: By, key: unknown): Promise<void> {
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

  writeRoutes(app, '/v1/reviews', { upsert, update, remove });
}

type Write = { fields: Fields; product: ProductKey; items: ReviewOption[] | undefined };

/** The fields of a write; each of the three kinds lacks some. @throws Failure 422 with all that is wrong. */
function readWrite(service: Service, params: Params, kind: 'create' | 'id' | 'code'): Write {
  const input = readInput(params);
  const fields: Fields = {};
  if (kind === 'create') {
    set(fields, 'code', input.text('code'));
    set(fields, 'tag_name', input.text('tag_name'));
    set(fields, 'source_url', input.text('review_source_url'));
  }
  set(fields, 'created_at', input.toTheSecond('created_at'));
  const message = input.text('message');
  set(fields, 'message', message === null ? '' : message);
  set(fields, 'score', input.number('score'));
  for (const name of ['user_code', 'user_name']) set(fields, name, input.text(name));
  set(fields, 'display', input.flag('display'));
  const productOptions = kind === 'code' ? undefined : input.options('product_options');
  set(fields, 'product_options', productOptions && JSON.stringify(productOptions));
  set(fields, 'pending_images', readImages(input, service.now()));
  const items = readReviewOptions(input, service);
  const product = { id: input.number('product_id'), code: input.text('product_code') };
  return { fields, product, items };
}

/** The columns to write. A product that is named for the first time is created. */
async function columnsOf(rows: Store['rows'], { fields, product }: Write, now: Date): Promise<Fields> {
  const id = await productId(rows, product, now);
  return id === null ? fields : { ...fields, product_id: id };
}
