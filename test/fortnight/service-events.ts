import type { Random } from '../../src/sandbox/sample-shop/random.ts';
import { beforeCursor, type Event } from './shop-events.ts';
import type { Stage } from './stage.ts';

/** What customers and the service's people do at the service. */

type Written = { count: number; createdSql: string; updatedSql?: string };

/** Writes reviews, most of them of sub-orders. Products that nobody has reviewed yet become known by it. */
async function writeReviews({ atService }: Stage, random: Random, { count, createdSql, updatedSql }: Written) {
  const salt = String(random.integer(0, 1e9));
  await atService(
    `insert into reference_service.products (code)
     select distinct 'P' || (hashtext(n || $2) & 31) from generate_series(1, $1::integer) n on conflict (code) do nothing`,
    [count, salt],
  );
  const rows = await atService(
    `with picked as (
       select row_number() over () as n, s.id, s.product_id, o.code, o.user_code
       from reference_service.sub_orders s join reference_service.orders o on o.id = s.order_id
       order by md5(s.id || $2) limit $1
     )
     insert into reference_service.reviews (message, score, user_name, user_code, created_at, updated_at, product_id, order_code, sub_order_id)
     select '후기 ' || n || $2, nullif((hashtext(n || $2) & 7) % 6, 0), '손님' || n, k.user_code, ${createdSql}, ${updatedSql ?? createdSql},
       coalesce(case when n % 3 > 0 then k.product_id end, p.id), case when n % 3 = 1 then k.code end, case when n % 3 = 2 then k.id end
     from generate_series(1, $1::integer) n
     join reference_service.products p on p.code = 'P' || (hashtext(n || $2) & 31)
     left join picked k using (n)
     returning id`,
    [count, salt],
  );
  return rows.map((row) => Number(row.id));
}

/** Changes some reviews. */
function change(set: string): Event {
  return async ({ atService }, random) => {
    await atService(
      `update reference_service.reviews set ${set}, updated_at = clock_timestamp()
       where id in (select r.id from reference_service.reviews r order by md5(r.id || $1) limit $2)`,
      [String(random.integer(0, 1e9)), random.integer(1, 6)],
    );
    return {};
  };
}

const now = 'clock_timestamp()';
/** Not before the service's beginning, and never within the overlap of a run: these are late. */
const daysAgo = (least: number, most: number) =>
  `${now} - interval '${least} days' - (hashtext(n || $2) & 1023) / 1023.0 * interval '${most - least} days'`;

export const serviceEvents: Readonly<Record<string, Event>> = {
  newReviews: async (stage, random) => {
    await writeReviews(stage, random, { count: random.integer(1, 10), createdSql: now });
    return {};
  },
  reviewsOfOneSecond: async (stage, random) => {
    await writeReviews(stage, random, { count: 130, createdSql: now });
    return {};
  },
  reviewsListedLate: async (stage, random) => {
    await writeReviews(stage, random, { count: 3, createdSql: await beforeCursor(stage, 'reviews', '50 minutes') });
    return {};
  },
  lateReviews: async (stage, random) => ({
    unseenReviews: await writeReviews(stage, random, { count: 3, createdSql: daysAgo(1, 30) }),
  }),
  veryLateReviews: async (stage, random) => ({
    unseenReviews: await writeReviews(stage, random, { count: 2, createdSql: daysAgo(50, 200) }),
  }),
  importedReviews: async (stage, random) => {
    await writeReviews(stage, random, { count: 40, createdSql: daysAgo(10, 400), updatedSql: now });
    return {};
  },
  reviewOfAnotherAge: async (stage, random) => {
    await writeReviews(stage, random, { count: 1, createdSql: `timestamptz '1993-05-05'`, updatedSql: now });
    return {};
  },
  reviewsAreEdited: change(`message = message || '.', score = 5, likes_count = likes_count + 1`),
  reviewsAreEmptied: change(`message = '', score = null, order_code = null`),
  reviewsAreHidden: change('display = not display'),
  reviewsAreDeleted: async ({ atService }, random) => {
    await atService(
      `delete from reference_service.reviews where id in (
         select id from reference_service.reviews where created_at > ${now} - interval '40 days' order by md5(id || $1) limit $2)`,
      [String(random.integer(0, 1e9)), random.integer(1, 4)],
    );
    return {};
  },
  oldReviewsAreDeleted: async ({ atService }, random) => {
    await atService(
      `delete from reference_service.reviews where id in (
         select id from reference_service.reviews where created_at < ${now} - interval '50 days' order by md5(id || $1) limit 3)`,
      [String(random.integer(0, 1e9))],
    );
    return {};
  },
  gradeIsDeletedAtService: async ({ atService }) => {
    await atService(
      'delete from reference_service.user_grades where id = (select max(id) from reference_service.user_grades)',
    );
    return { touchesCatalog: true };
  },
  categoryIsDeletedAtService: async ({ atService }) => {
    await atService(
      'delete from reference_service.categories where id = (select max(id) from reference_service.categories)',
    );
    return { touchesCatalog: true };
  },
};
