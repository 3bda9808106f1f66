import { expect, test } from 'vitest';
import { readQuestions } from '../../docs/warehouse-page/questions.ts';
import { countByHand, createWarehouse } from '../harness/warehouse.ts';

test('each column of bi.reviews and bi.freshness shows its own field', async () => {
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

test('each field of an image, a video and an option is a column, in order', async () => {
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
  // A size that is no number of pixels is null.
  const sizes = [1e18, 2_147_483_647.9, -5, '7', [8], {}, null, 640.2, 2_147_483_646];
  await ask('update warehouse.reviews set images = $1', [JSON.stringify(sizes.map((width) => ({ url: 'u', width })))]);
  const widths = await ask('select width from warehouse.review_images order by position');
  expect(widths.map(({ width }) => width)).toEqual([...Array(7).fill(null), 640, 2_147_483_646]);
  const held = `select distinct (expires_at - synced_at)::text as held from warehouse.review_videos, warehouse.reviews`;
  expect(await ask(held)).toEqual([{ held: '7 days' }]);
});

test('a product with a new code is one product, and what has no product is none', async () => {
  const { url, ask } = await createWarehouse();
  await ask(`insert into warehouse.reviews (id, created_at, updated_at, product_id, product_code, score)
    select n, case when n <= 10 then timestamptz '2025-01-15' else '2026-01-15' end, now(), case when n % 2 = 0 then 5 end,
      case when n % 2 = 1 then null when n <= 10 then 'SS25' else 'FW26' end, case when n <= 10 then 5 else 2 end
    from generate_series(1, 20) n
    union all select 21, '2026-01-15', now(), 5, 'AW26', null`);
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
  // If several reviews are of one second, the one with the highest id is the newest.
  for (const view of ['reviews_by_product', 'reviews_by_product_month']) {
    const codes = await ask(`select product_code from bi.${view} where product_id = 5 and reviews > 5`);
    expect([view, codes]).toEqual([view, [{ product_code: 'AW26' }]]);
  }
});

test('a sub-order is shown with status, price and the day of delivery in the zone', async () => {
  const { ask } = await createWarehouse();
  await ask(`insert into sync.order_links (order_code, ordered_at) values ('a', '2026-01-31')`);
  await ask(`insert into sync.sub_order_links
      (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at) values
      ('a', '1', 1, '{"price": "12.5"}', true, 12, 'delivery_finished', '2026-02-01T16:00:00Z'),
      ('a', '2', 2, '{"price": "10"}', true, 11, 'paid', null)`);
  const lines = `select product_id::integer as product, status, delivered_on::text, ordered_at, price::text
    from bi.sub_orders order by 1`;
  const ordered_at = new Date('2026-01-31');
  expect(await ask(lines)).toEqual([
    { product: 11, status: 'paid', delivered_on: null, ordered_at, price: '10' },
    { product: 12, status: 'delivery_finished', delivered_on: '2026-02-02', ordered_at, price: '12.5' },
  ]);
});

test('a field is gone after three records without it, or a hundred if half had it', async () => {
  const { ask } = await createWarehouse();
  // Each was on so many of a thousand records, and then missing from so many.
  await ask(`insert into sync.field_shapes (record, field, kind, records, seen_after, seen_until, first_seen_at, last_seen_at)
    select 'review', coalesce(had || '/' || missing, ''), 'string', coalesce(had, 2000),
      coalesce(1000 - missing, 0), 2000 - coalesce(missing, 0),
      now() - interval '2 days', now() - case when had is null then interval '0' else interval '2 hours' end
    from (values (null, null), (990, 3), (990, 2), (989, 99), (500, 100), (500, 99), (499, 100)) as shape (had, missing)`);
  expect(await ask('select field, records::integer from bi.field_drift order by 1')).toEqual([
    { field: '500/100', records: 100 },
    { field: '990/3', records: 3 },
  ]);
});

/** A warehouse with one review, which has these comments. */
async function withComments(comments: readonly object[]) {
  const { ask } = await createWarehouse();
  await ask(
    `insert into warehouse.reviews (id, created_at, updated_at, user_id, user_code, extra) values (1, now(), now(), 7, 'kim', $1)`,
    [JSON.stringify({ comments })],
  );
  return ask;
}

test('the date of a comment is read in every form that ISO 8601 and Ruby have for its offset', async () => {
  const dates = [
    '2026-11-25T10:00:00.123+09:00',
    '2026-11-25T10:00:00+0900',
    '2026-11-25T10:00:00+09',
    '2026-11-25T01:00:00Z',
    '2026-11-25t01:00:00z',
    '2026-11-25 10:00:00 +0900',
    '2026-11-25 01:00:00 Z',
    '2026-11-24T21:30:00.5-0330',
    '2026-11-25 10:00:00',
  ];
  const ask = await withComments([...dates, '2026-11-25', '10:00:00', null].map((one) => ({ created_at: one })));
  const shown = await ask<{ at: Date | null }>('select replied_at as at from bi.replies order by position');
  const moment = new Date('2026-11-25T01:00:00Z');
  expect(shown.map(({ at }) => at)).toEqual([...dates.map(() => moment), new Date('2026-11-24T15:00:00Z'), null, null]);
});

test('whether the shop wrote a comment is read from the usual names of its fields', async () => {
  const comments: [comment: Record<string, unknown>, isByShop: boolean | null][] = [
    [{ is_admin: true, user_code: 'kim' }, true],
    [{ by_shop: true }, true],
    [{ author_type: 'Seller' }, true],
    [{ role: 'brand' }, true],
    [{ is_staff: false }, false],
    [{ writer_role: 'guest' }, false],
    [{ user_code: 'kim' }, false],
    [{ user_id: 7 }, false],
    [{ user_id: '7' }, false],
    [{ user_id: 8, user_code: 'lee' }, null],
    [{ type: 'text', admin: 'true' }, null],
  ];
  const ask = await withComments(comments.map(([one]) => one));
  const shown = await ask('select comment, is_by_shop as by from warehouse.review_comments order by position');
  expect(shown.map(({ comment, by }) => [comment, by])).toEqual(comments);
});
