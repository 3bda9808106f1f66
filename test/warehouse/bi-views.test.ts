import { beforeAll, describe, expect, test } from 'vitest';
import { readQuestions } from '../../docs/warehouse-page/questions.ts';
import { runCli } from '../harness/cli.ts';
import { countByHand } from '../harness/count-by-hand.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { createWarehouse } from '../harness/test-warehouse.ts';
import { openWorld } from '../harness/world.ts';

describe('reviews', () => {
  let { url, ask } = {} as Awaited<ReturnType<typeof createWarehouse>>;
  beforeAll(async () => {
    ({ url, ask } = await createWarehouse());
    await ask(`insert into warehouse.reviews
        (id, created_at, updated_at, score, display, images_count, product_id, product_code, deleted_at)
      values
        (1, '2026-01-10T03:00:00Z', now(), 5, true, 2, 1, 'one', null),
        (2, '2026-01-12T15:30:00Z', now(), 1, false, 0, 1, 'one', null),
        (3, '2026-01-12T16:00:00Z', now(), null, true, 0, 1, null, null),
        (4, '2026-01-12T16:00:00Z', now(), 1, true, 0, 1, 'one', now()),
        (5, '2026-03-31T14:59:59Z', now(), 2, true, 0, null, 'two', null),
        (6, '2026-06-01T00:00:00Z', now(), 4, true, 0, null, 'two', null)`);
    await countByHand(url);
  });

  test('that are gone are not counted, hidden ones are and are told', async () => {
    expect(await ask('select review_id::integer as id, is_displayed from bi.reviews order by 1')).toEqual([
      { id: 1, is_displayed: true },
      { id: 2, is_displayed: false },
      { id: 3, is_displayed: true },
      { id: 5, is_displayed: true },
      { id: 6, is_displayed: true },
    ]);
  });

  test('without a rating leave the average alone, and a day without reviews is a row of zeros', async () => {
    const days = `select day::text, reviews::integer, rated_reviews::integer as rated, average_score::float as average,
      photo_share::float as photos from bi.reviews_by_day order by day limit 4`;
    expect(await ask(days)).toEqual([
      { day: '2026-01-10', reviews: 1, rated: 1, average: 5, photos: 1 },
      { day: '2026-01-11', reviews: 0, rated: 0, average: null, photos: null },
      { day: '2026-01-12', reviews: 0, rated: 0, average: null, photos: null },
      { day: '2026-01-13', reviews: 2, rated: 1, average: 1, photos: 0 },
    ]);
  });

  test('are averaged over three calendar months, not over three rows', async () => {
    const months = `select month::text, average_score::float as one, average_score_3_months::float as three
      from bi.score_trend order by month`;
    expect(await ask(months)).toEqual([
      { month: '2026-01-01', one: 3, three: 3 },
      { month: '2026-03-01', one: 2, three: 2.67 },
      { month: '2026-06-01', one: 4, three: 4 },
    ]);
  });

  test('of one product are one row, whether they tell its code or not', async () => {
    const products = `select product_code, reviews::integer, displayed_reviews::integer as shown,
      displayed_average_score::float as average from bi.reviews_by_product order by 1`;
    expect(await ask(products)).toEqual([
      { product_code: 'one', reviews: 3, shown: 2, average: 5 },
      { product_code: 'two', reviews: 2, shown: 2, average: 3 },
    ]);
  });
});

test('a product is shown by the code that its newest review with a code has, and product 0 is not "no product"', async () => {
  const { url, ask } = await createWarehouse();
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, product_id, product_code, score) values
      (1, '2026-01-05', now(), 7, 'Z-old', 5), (2, '2026-01-06', now(), 7, 'M-in-between', 5),
      (3, '2026-02-06', now(), 7, 'A-new', 5), (4, '2026-03-06', now(), 7, null, 5),
      (5, '2026-01-05', now(), 0, 'zero', 1), (6, '2026-01-05', now(), null, null, 3)`);
  await countByHand(url);
  const all = 'select product_id::integer as id, product_code as code, reviews::integer as n';
  expect(await ask(`${all} from bi.reviews_by_product order by 1 nulls last`)).toEqual([
    { id: 0, code: 'zero', n: 1 },
    { id: 7, code: 'A-new', n: 4 },
    { id: null, code: null, n: 1 },
  ]);
  expect(await ask(`${all} from bi.reviews_by_product_month where month = '2026-01-01' order by 1 nulls last`)).toEqual(
    [
      { id: 0, code: 'zero', n: 1 },
      { id: 7, code: 'M-in-between', n: 2 },
      { id: null, code: null, n: 1 },
    ],
  );
});

test('each column of bi.reviews and bi.freshness shows its own field, and what the service leaves out follows from the type', async () => {
  const { ask } = await createWarehouse();
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, display, user_id, product_id, product_code, score, review_type, source,
      images_count, videos_count, likes_count, plus_likes_count, comments_count, message, store_order, store_name, third_party_name,
      sub_brand_id, tag_name, first_seen_at, user_code, deleted_at)
    values (1, '2026-01-31T15:00:00Z', '2026-02-02', false, 3, 2, 'P2', 4, 'text', 'sms', 5, 6, 7, 8, 9, '좋아요', true, 'store',
      'partner', 10, 'tag', '2026-02-03', null, null)`);
  const rows = (text: string) => ask<{ row: Record<string, unknown> }>(text).then((all) => all.map(({ row }) => row));
  expect(await rows(`select to_jsonb(r) - '{order_key}'::text[] as row from bi.reviews r`)).toEqual([
    {
      review_id: 1,
      created_at: '2026-01-31T15:00:00+00:00',
      created_on: '2026-02-01',
      created_month: '2026-02-01',
      updated_at: '2026-02-02T00:00:00+00:00',
      product_id: 2,
      product_code: 'P2',
      score: 4,
      review_type: 'text',
      source: 'sms',
      has_photo: true,
      has_video: true,
      is_displayed: false,
      photos: 5,
      videos: 6,
      votes: 7,
      helpful_votes: 8,
      comments: 9,
      message_length: 3,
      is_store_order: true,
      store_name: 'store',
      third_party_name: 'partner',
      sub_brand_id: 10,
      tag_name: 'tag',
      is_by_member: false,
      first_seen_at: '2026-02-03T00:00:00+00:00',
    },
  ]);
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, review_type, user_code, deleted_at)
    select 1 + n, '2026-03-01', now(), type, 'kim', case when type = 'gone' then now() end
    from unnest('{photo,video,video&photo,text,null,gone}'::text[]) with ordinality as t (type, n)`);
  await ask(`update warehouse.reviews set created_at = '2026-04-01' where review_type = 'gone'`);
  const told = `select jsonb_build_array(review_type, has_photo, has_video, is_displayed, is_by_member) as row
    from bi.reviews where review_id > 1 order by review_id`;
  expect(await rows(told)).toEqual([
    ['photo', true, false, true, true],
    ['video', false, true, true, true],
    ['video&photo', true, true, true, true],
    ['text', false, false, true, true],
    [null, false, false, true, true],
  ]);
  await ask(`update sync.settings set reviews_cursor = '{"at": "2026-05-01", "readTo": "2026-05-02"}', counted_at = '2026-05-05',
      orders_cursor = '{"at": "2026-05-03", "readTo": "2026-05-04"}'`);
  await ask(`insert into sync.dead_letters (kind, key, reason, payload, resolved_at) values ('order', 'a', '', '1', null),
      ('order', 'b', '', '1', now()), ('review', '1', '', '1', null)`);
  expect(await rows('select to_jsonb(f) as row from bi.freshness f')).toEqual([
    {
      time_zone: 'Asia/Seoul',
      newest_review_at: '2026-03-01T00:00:00+00:00',
      reviews_read_to: '2026-05-02T00:00:00+00:00',
      orders_pushed_to: '2026-05-03T00:00:00+00:00',
      records_not_synced: 2,
      counted_at: '2026-05-05T00:00:00+00:00',
    },
  ]);
});

test('each field of an image, a video and an option is a column, in the order of the list; links of videos hold seven days', async () => {
  const { ask } = await createWarehouse();
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, videos) values (1, now(), now(), '{}')`);
  for (const list of ['images', 'videos', 'options']) {
    const columns = await ask<{ name: string; type: string }>(
      `select column_name as name, data_type as type from information_schema.columns
      where table_name = $1 and column_name not in ('review_id', 'position', 'expires_at')`,
      [`review_${list}`],
    );
    const item = Object.fromEntries(columns.map(({ name, type }, n) => [name, type === 'integer' ? n : name]));
    await ask(`update warehouse.reviews set ${list} = $1`, [JSON.stringify([item, { width: '7', id: 8 }])]);
    const rows = await ask(`select * from warehouse.review_${list} order by position`);
    const nulls = Object.fromEntries(columns.map(({ name }) => [name, name === 'id' ? '8' : null]));
    expect(rows).toMatchObject([
      { position: 1, ...item },
      { position: 2, ...nulls },
    ]);
  }
  const held = `select distinct (expires_at - synced_at)::text as held from warehouse.review_videos, warehouse.reviews`;
  expect(await ask(held)).toEqual([{ held: '7 days' }]);
});

test('a size of an image that is no number of pixels is null, and all other images are shown', async () => {
  const { ask } = await createWarehouse();
  const sizes = [1e18, 2_147_483_647.9, -5, '7', [8], {}, null, 640.2, 2_147_483_646];
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, images) values (1, now(), now(), $1)`, [
    JSON.stringify(sizes.map((width) => ({ url: 'u', width }))),
  ]);
  expect(await ask('select width from warehouse.review_images order by position')).toEqual(
    [null, null, null, null, null, null, null, 640, 2_147_483_646].map((width) => ({ width })),
  );
});

test('a product with a new code is one product, and what has no product is none', async () => {
  const { url, ask } = await createWarehouse();
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, product_id, product_code, score)
    select n, case when n <= 10 then timestamptz '2025-01-15' else '2026-01-15' end, now(), case when n % 2 = 0 then 5 end,
      case when n % 2 = 1 then null when n <= 10 then 'SS25' else 'FW26' end, case when n <= 10 then 5 else 2 end
    from generate_series(1, 20) n`);
  await ask(`insert into sync.product_links values ('SS25', 5, now() - interval '1 year'), ('FW26', 5, now())`);
  await ask(`insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, delivered_at)
    values ('a', '1', 1, '{}', true, 5, '2026-02-01')`);
  await countByHand(url);
  const answers = new Map<string, unknown>();
  for (const { file, sql } of await readQuestions()) answers.set(file.slice(0, 2), await ask(sql));
  const product = { product_id: '5', product_code: expect.any(String) };
  expect(answers.get('03')).toMatchObject([{ ...product, rated_reviews: '10' }]);
  expect(answers.get('04')).toMatchObject([
    { ...product, before: '5.00', last_six_months: '2.00', recent_ratings: '5' },
  ]);
  for (const view of ['sub_orders', 'reviews_per_delivered_sub_order_by_product']) {
    expect(await ask(`select product_code from bi.${view}`)).toEqual([{ product_code: 'FW26' }]);
  }
});

describe('deliveries', () => {
  const lines = `select product_id::integer as product, status, delivered_on::text, ordered_at is not null as dated, price::text
    from bi.sub_orders order by 1`;

  test('are those of the line as it was pushed last', async () => {
    await using world = await openWorld({ shop: 'empty' });
    await createOrderShop(world.shopUrl);
    await world.shop('alter table l add column delivered_at timestamptz');
    await world.shop(`insert into o (code) values ('a')`);
    await world.shop(`insert into l (order_code, line_code, product_id) values ('a', '1', 11)`);
    const environment = { ...world.environment, SHOP_SQL_DIR: await orderShopQueries() };
    await runCli(['sync', 'orders'], environment);
    expect(await world.warehouse(lines)).toEqual([
      { product: 11, status: 'paid', delivered_on: null, dated: true, price: '10' },
    ]);
    await world.shop(
      `update l set status = 'delivery_finished', price = 12.5, product_id = 12, delivered_at = '2026-02-01T16:00:00Z'`,
    );
    await world.shop('update o set updated_at = now()');
    await runCli(['sync', 'orders'], environment);
    expect(await world.warehouse(lines)).toEqual([
      { product: 12, status: 'delivery_finished', delivered_on: '2026-02-02', dated: true, price: '12.5' },
    ]);
  });

  test('count each sub-order once however many reviews it has, in the month of the first delivery, and each review once', async () => {
    const { url, ask } = await createWarehouse();
    await ask(`insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, delivered_at) values
        ('a', '1', 1, '{}', true, 11, '2026-02-01'), ('a', '2', 2, '{}', true, 11, '2026-03-01'), ('a', '3', 3, '{}', true, 12, '2026-02-02'),
        ('b', '1', 4, '{}', true, 11, '2026-02-03'), ('b', '2', null, '{}', true, 12, '2026-02-03'), ('c', '1', 5, '{}', true, 12, null)`);
    await ask(`insert into sync.order_links (order_code) values ('a'), ('b'), ('c')`);
    await ask(`insert into warehouse.reviews (id, created_at, updated_at, product_id, order_code) values
        (1, '2026-02-03', now(), 11, 'a'), (2, '2026-02-05', now(), 12, 'a'), (3, '2026-02-06', now(), 12, 'a'),
        (4, '2026-02-06', now(), 11, 'elsewhere'), (7, '2026-02-07', now(), 11, 'a')`);
    // Gone from the service: it answers no order and no delivery any more.
    await ask(`insert into warehouse.reviews (id, created_at, updated_at, product_id, order_code, deleted_at) values
        (5, '2026-02-02', now(), 11, 'b', now()), (6, '2026-02-01', now(), 11, 'a', now())`);
    await countByHand(url);
    expect(
      await ask(`select month::text, delivered_sub_orders::integer as delivered, reviews::integer, reviewed_sub_orders::integer as reviewed
        from bi.reviews_per_delivered_sub_order`),
    ).toEqual([{ month: '2026-02-01', delivered: 4, reviews: 4, reviewed: 3 }]);
    expect(
      await ask(`select sub_orders::integer, reviews::integer, days_from_delivery_to_review::float as days
        from bi.response_by_order order by sub_orders desc, delivered_at nulls last`),
    ).toEqual([
      { sub_orders: 3, reviews: 4, days: 2 },
      { sub_orders: 1, reviews: 0, days: null },
      { sub_orders: 1, reviews: 0, days: null },
    ]);
    expect(await ask('select from bi.sub_orders')).toHaveLength(5);
  });
});
