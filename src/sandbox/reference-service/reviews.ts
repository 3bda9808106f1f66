import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type By, readRoutes } from './coded-routes.ts';
import { Failure, notFound } from './failure.ts';
import { type Input, readInput } from './input.ts';
import { readPaging, sendPage } from './paging.ts';
import { paramsOf } from './request.ts';
import { showImages } from './review-images.ts';
import type { Service } from './service.ts';

const limits = { days: 45, pages: 30 } as const;

/** One review alone; lists show `comments_count` instead of the comments. */
export const singleReview = (service: Service) =>
  shown(service, `jsonb_build_object('comments', r.comments, 'tag_name', r.tag_name)`);
const listedReview = (service: Service) =>
  shown(service, `jsonb_build_object('comments_count', jsonb_array_length(r.comments))`);
const shown = ({ options }: Service, more: string) =>
  `(reference_service.review_json(r, p.code) || ${more}) - '{${options.hiddenFields.join(',')}}'::text[]`;
export const fromReviews = 'reference_service.reviews r left join reference_service.products p on p.id = r.product_id';

/** Reading reviews (docs/interface.md, "Reviews"). */
export function reviews(app: FastifyInstance, service: Service): void {
  const { store } = service;

  async function get(column: By, key: unknown) {
    await showImages(service);
    const [row] = await store.rows<{ body: unknown }>(
      `select ${singleReview(service)} as body from ${fromReviews} where r.${column} = $1`,
      [key],
    );
    if (!row) throw notFound(`review ${key}`);
    return row.body;
  }

  readRoutes(app, '/v1/reviews', { get, list });

  async function list(request: FastifyRequest, reply: FastifyReply) {
    const input = readInput(paramsOf(request));
    const paging = readPaging(input);
    const isByUpdate = input.flag('date_updated_at') === true;
    const direction = input.flag('date_order_desc') === true ? 'desc' : 'asc';
    const period = readPeriod(input);
    const filters = readFilters(input);
    await showImages(service);
    const bounds = await boundsOf(service, period);

    const date = isByUpdate ? 'r.updated_at' : 'r.created_at';
    const conditions = [`${date} >= $1`, `${date} < $2::timestamptz + interval '1 second'`];
    const values: unknown[] = [bounds.start, bounds.end];
    for (const [condition, ...given] of filters) {
      values.push(...given);
      conditions.push(condition.replace('?', `$${values.length}`));
    }
    const from = `${fromReviews} where ${conditions.join(' and ')}`;
    const [counted] = await store.rows<{ total: number }>(`select count(*) as total from ${from}`, values);
    const offset = (paging.page - 1) * paging.limit;
    // First the keys, then the rows: otherwise the rows that the offset skips would be rendered too.
    const order = `${date} ${direction}, r.id ${direction}`;
    const [page] = await store.rows<{ body: string }>(
      `with page as materialized (
         select r.id from ${from} order by ${order} limit ${paging.limit} offset ${offset}
       )
       select coalesce(json_agg(${listedReview(service)} order by ${order}), '[]')::text as body
       from ${fromReviews} where r.id in (select id from page)`,
      values,
    );
    const total = counted?.total ?? 0;
    const last = lastOf(service, Math.ceil(total / paging.limit));
    sendPage(request, reply, { ...paging, total, last, mostPages: limits.pages });
    // Rendered by Postgres: parsing it here only to print it again would take longer than all the rest.
    return reply.type('application/json; charset=utf-8').send(page?.body);
  }
}

/** The last page that the service names. Undefined: the true one. Null: none. */
function lastOf({ options }: Service, real: number): number | null | undefined {
  switch (options.lastPageLink) {
    case 'real':
      return undefined;
    case 'capped':
      return Math.min(Math.max(1, real), limits.pages);
    case 'absent':
      return null;
  }
}

/**
 * Days are ignored if times are given. If neither are given, the period is the last 30 days (docs/interface.md,
 * "Reviews", rules 1 and 3).
 */
function readPeriod(input: Input): (string | null)[] {
  const times = [input.text('start_datetime') ?? null, input.text('end_datetime') ?? null];
  const days = [input.text('start_date') ?? null, input.text('end_date') ?? null];
  return times[0] || times[1] ? [...times, null, null] : [null, null, ...days];
}

/** "default 00:00:00 thirty days before", "default 23:59:59 of request day"; all in the session's zone. */
const periodSql = `select
  date_trunc('second', coalesce($1::timestamptz, $3::date::timestamptz, date_trunc('day', $5::timestamptz) - interval '30 days')) as start,
  date_trunc('second', coalesce(
    $2::timestamptz,
    ($4::date + 1)::timestamptz - interval '1 second',
    date_trunc('day', $5::timestamptz) + interval '1 day' - interval '1 second'
  )) as "end"`;

/**
 * @throws Failure 422 if a period is over 45 days, by the calendar as well as in hours: clocks may change within it.
 */
async function boundsOf({ store, now }: Service, period: (string | null)[]): Promise<{ start: Date; end: Date }> {
  const [bounds] = await store.rows<{ start: Date; end: Date; is_too_long: boolean }>(
    `select start, "end",
       "end" > start + make_interval(days => $6) and "end" > start + make_interval(hours => 24 * $6) as is_too_long
     from (${periodSql}) period`,
    [...period, now(), limits.days],
  );
  if (!bounds) throw new Error('a select without from gave no row');
  if (!bounds.is_too_long) return bounds;
  const days = ((bounds.end.getTime() - bounds.start.getTime()) / 86_400_000).toFixed(2);
  throw new Failure(422, `period: found ${days} days from start to end, expected at most ${limits.days}`);
}

type Filter = [condition: string, ...values: unknown[]];

/** Each filter that was given, its value in place of the question mark. */
function readFilters(input: Input): Filter[] {
  const filters: Filter[] = [];
  const add = (value: unknown, condition: string) => {
    if (value !== undefined && value !== null) filters.push([condition, value]);
  };
  add(input.number('product_id'), 'r.product_id = ?');
  add(input.text('product_code'), 'p.code = ?');
  add(input.text('user_code'), 'r.user_code = ?');
  const category = 'p.category_code in (select code from reference_service.categories where';
  add(input.number('category_id'), `${category} id = ?)`);
  add(input.text('category_code'), 'p.category_code = ?');
  const score = input.number('score');
  if (score === 0) filters.push(['r.score is null']);
  else add(score, 'r.score = ?');
  if (input.flag('photo')) filters.push([`r.images <> '[]'`]);
  add(input.text('tag_name'), 'r.tag_name = ?');
  add(input.text('third_party_name'), 'r.third_party_name = ?');
  add(input.number('sub_brand_id'), 'r.sub_brand_id = ?');
  add(input.text('sub_brand_code'), 'r.sub_brand_code = ?');
  return filters;
}
