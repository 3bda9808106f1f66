import pg from 'pg';
import { expect } from 'vitest';
import { until } from '../harness/cli.ts';
import { valuesOf } from '../harness/database.ts';
import { line, order, orderTest } from '../harness/order-world.ts';
import { worldTest as test, type World } from '../harness/world.ts';

const customer = 'minji-login';

async function fill(world: World): Promise<void> {
  await world.warehouse(`
    insert into warehouse.reviews (id, created_at, updated_at, user_id, user_code, user_name, message, code, order_code,
      sub_order_code, score, product_options, images, videos, options, extra)
    values (1, now(), now(), 7, '${customer}', 'Kim Minji', 'Minji likes it', 'minji-review', 'ORDER-1', 'minji-line', 5,
        '{"engraving": "Minji"}', '[{"url": "minji.jpg"}]', '[{"url": "minji.mp4"}]', '[{"value": "Minji"}]',
        '{"user_email": "minji@shop.example"}'),
      (2, now(), now(), 8, 'another', 'Park Jisoo', 'fine', null, 'ORDER-9', null, 4, null, null, null, null, '{}');
    insert into sync.comments_due (review_id, moved_at) values (1, now()), (2, now());
    insert into sync.order_links (order_code, order_id, fingerprint, contact) values
      ('ORDER-1', 1, 'hash-1', 'allowed'), ('ORDER-2', 2, 'hash-2', 'withheld'), ('ORDER-9', 9, 'hash-9', 'allowed');
    insert into sync.sub_order_links (order_code, line_code, sub_order_id, is_ours, content)
    select 'ORDER-' || n, '1', n, true, options || '{"invoice": "minji-parcel", "price": "1"}'
    from (values (1, '{"product_options": {"engraving": "Minji"}}'::jsonb), (2, '{"product_options": {}}'), (9, '{}'))
      as line (n, options);
    insert into sync.dead_letters (kind, key, reason, payload, order_code) values
      ('order', 'ORDER-1', 'why', '{"order": {"user_code": "${customer}", "user_name": "Kim Minji"}}', 'ORDER-1'),
      ('review', '1', 'why', '{"user_code": "${customer}", "message": "Minji"}', null),
      ('order', 'ORDER-9', 'why', '{"order": {"user_code": "another", "note": "${customer} is part of this"}}', 'ORDER-9')`);
}

async function everything({ warehouse }: World): Promise<string> {
  const tables = ['warehouse.reviews', 'sync.dead_letters', 'sync.sub_order_links', 'sync.order_links'];
  return JSON.stringify(await Promise.all(tables.map((name) => warehouse(`select * from ${name} order by 1, 2`))));
}

orderTest('forget user finds the order that the service refused', async ({ world }) => {
  await world.place(order('A', { user_code: 'kim', user_email: 'kim@example.com' }, line('1', 1)));
  world.serviceRule(({ path }) => (path === '/v1/orders' ? { status: 422, body: '{}' } : 'pass'));
  await world.sync();
  expect(await world.cli('forget user kim --apply')).toMatchObject({ status: 0 });
  expect(JSON.stringify(await world.warehouse('select payload from sync.dead_letters'))).not.toContain('kim');
  expect(await world.warehouse('select contact from sync.order_links')).toEqual([{ contact: 'forgotten' }]);
});

test('forget finds order and review of a code that the service writes otherwise', async ({ world }) => {
  await fill(world);
  await world.warehouse(`update warehouse.reviews set order_code = 'order-1' where id = 1`);
  await world.warehouse(`delete from sync.dead_letters where key = 'ORDER-1'`);
  expect(await world.json(`forget user ${customer}`)).toMatchObject({ contacts: 1 });
  await world.warehouse('update warehouse.reviews set user_code = null where id = 1');
  expect(await world.json('forget order ORDER-1')).toMatchObject({ reviews: 1, contacts: 1 });
  expect(await world.json('forget order ORDER-2')).toMatchObject({ reviews: 0 });
});

test('forget user shows what it would mask, masks it, and changes no other customer', async ({ world }) => {
  await fill(world);
  const before = await everything(world);
  for (const [args, head] of [
    [
      'user minji',
      /^No record here names this code; masked .* nobody\.\nOrders carry no customer .* minji --order <code>/,
    ],
    ['user minji --order ORDER-0', /^Nothing is stored of ORDER-0: is a code mistyped\?/],
    ['order ORDER-0 --apply', /^Nothing is stored of ORDER-0: is a code mistyped\?/],
    [`user ${customer} --order ORDER-2 --order ORDER-0`, /^Nothing is stored of ORDER-0: is a code mistyped\?/],
  ] as const)
    expect(await world.says(`forget ${args}`, head)).toMatchObject({ status: 1 });
  const forget = `forget user ${customer}`;
  const records = { reviews: [{ id: 1, userCode: customer, orderCode: 'ORDER-1' }], contacts: ['ORDER-1'] };
  const counts = { reviews: 1, deadLetters: 2, orderLines: 1, contacts: 1 };
  expect(await world.json(forget)).toMatchObject({ applied: false, ...counts, records });
  const shown = await world.says(
    forget,
    /^Orders carry no customer here\..*\n\nWould be masked \(nothing was changed; add --apply\):/,
    /review 1 of minji-login, order ORDER-1\n- order ORDER-1\n- dead letter \d: order ORDER-1/,
  );
  expect(shown.status).toBe(0);
  expect(await everything(world)).toBe(before);

  expect(await world.says(`${forget} --order ORDER-2 --apply`, /^Masked:/)).toMatchObject({ status: 0 });

  const columns = 'id::integer, score, user_id::integer, user_code, user_name, message';
  expect(await world.warehouse(`select ${columns} from warehouse.reviews order by id`)).toEqual([
    { id: 1, score: 5, user_id: null, user_code: null, user_name: null, message: null },
    { id: 2, score: 4, user_id: 8, user_code: 'another', user_name: 'Park Jisoo', message: 'fine' },
  ]);
  const content = { product_options: {}, invoice: null, price: '1' };
  const contents = valuesOf(await world.warehouse('select content from sync.sub_order_links order by order_code'));
  expect(contents).toEqual([content, content, expect.objectContaining({ invoice: 'minji-parcel' })]);
  // The fingerprint covers 16 bits of the phone number. No further push carries contact.
  const links = `select concat_ws(' ', order_code, fingerprint, contact) from sync.order_links order by 1`;
  const forgotten = ['ORDER-1 forgotten', 'ORDER-2 forgotten', 'ORDER-9 hash-9 allowed'];
  expect(valuesOf(await world.warehouse(links))).toEqual(forgotten);
  const rows = 'select reason, payload, resolved_at is null as open from sync.dead_letters order by key';
  const masked = { reason: expect.stringMatching(/^the record was masked by forget/), payload: null, open: true };
  const kept = { reason: 'why', payload: expect.anything(), open: true };
  expect(await world.warehouse(rows)).toEqual([masked, masked, kept]);
  expect(await world.json(forget)).toMatchObject({ reviews: 0, deadLetters: 0, orderLines: 0, contacts: 0 });
  // A second time, as after a lost response.
  const again = await world.says(
    `${forget} --order ORDER-2 --apply`,
    /^No record here names this code; masked records name nobody\./,
  );
  expect(again.status).toBe(0);
  // No run asks for the review by its id to read its comments: the text would come back.
  expect(valuesOf(await world.warehouse('select review_id::integer from sync.comments_due'))).toEqual([2]);
  // A later push stored a fingerprint again.
  await world.warehouse(`update sync.order_links set fingerprint = 'hash-3' where order_code = 'ORDER-2'`);
  expect(await world.json('forget order ORDER-2 --apply')).toMatchObject({ contacts: 1 });
  expect(await world.warehouse(`select from sync.order_links where fingerprint = 'hash-3'`)).toEqual([]);
});

orderTest('a push under way when its order is forgotten ends; the next has no contact', async ({ world }) => {
  await world.place(order('A', { user_code: 'kim', user_email: 'kim@example.com' }, line('1', 1, { invoice: 'P-1' })));
  world.serviceRule(async () => {
    if (world.writes().length > 1) return 'pass' as const;
    expect(await world.cli('forget order A --apply')).toMatchObject({ status: 0 });
    await world.warehouse('update sync.order_links set lease_expires_at = now()');
    return 'pass' as const;
  });
  expect(await world.sync()).toMatchObject({ orders_pushed: 1, sub_orders_added: 1 });
  const posts = world.writes().filter(({ path }) => path === '/v1/orders');
  expect(posts.map(({ form }) => form.get('user_email'))).toEqual(['kim@example.com', null]);
  expect(await world.atService('select from reference_service.sub_orders')).toHaveLength(1);
});

test('forget waits for a push that is being recorded, and neither stops the other', async ({ world }) => {
  await fill(world);
  const push = new pg.Client({ connectionString: world.warehouseUrl });
  await push.connect();
  try {
    await push.query(`begin; select from sync.order_links where order_code = 'ORDER-1' for update`);
    const forgotten = world.cli('forget user', customer, '--order', 'ORDER-2', '--apply');
    await until(async () => (await world.warehouse('select from pg_locks where not granted')).length > 0);
    await push.query(`update sync.sub_order_links set linked_at = now() where order_code = 'ORDER-1'`);
    await push.query(`update sync.dead_letters set resolved_at = now() where order_code = 'ORDER-1'; commit`);
    expect(await forgotten).toMatchObject({ status: 0 });
  } finally {
    await push.end();
  }
});

test('after forget user, no table names the customer, its orders or its texts', async ({ world }) => {
  await world.warehouse(`
    insert into warehouse.reviews (id, created_at, updated_at, user_code, user_name, message, order_code, sub_order_code, product_id)
    values (1, now(), now(), '${customer}', 'Minji', 'Minji likes it', 'MINJI-ORDER', 'MINJI-ORDER-1', 3)`);
  // Statistics of the planner keep frequent values. Counts were made before: the next one counts what is touched.
  await world.warehouse(`
    update sync.settings set counted_at = now();
    insert into warehouse.reviews (id, created_at, updated_at, user_code, order_code)
    select n, now(), now(), '${customer}', 'MINJI-ORDER-' || n from generate_series(2, 200) n;
    insert into sync.dead_letters (kind, key, reason, payload, order_code)
    select 'order_line', 'X/' || n, 'Minji', '{"user_code": "${customer}"}', 'X' from generate_series(1, 200) n;
    insert into sync.sub_order_links (order_code, line_code, is_ours, content)
    select 'X', n, true, '{"product_options": {"engraving": "Minji"}}' from generate_series(1, 200) n;
    analyze warehouse.reviews, sync.dead_letters, sync.sub_order_links`);
  const statistics = () =>
    world.warehouse(`select distinct tablename as name from pg_stats where pg_stats::text ~* 'minji' order by 1`);
  expect(await statistics()).toEqual([{ name: 'dead_letters' }, { name: 'reviews' }, { name: 'sub_order_links' }]);
  expect(await world.cli('forget user', customer, '--apply')).toMatchObject({ status: 0 });
  expect(await statistics()).toEqual([]);
  const tables = await world.warehouse<{ name: string }>(`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_schema in ('sync', 'warehouse', 'bi', 'bullmq')`);
  expect(tables.length).toBeGreaterThan(30);
  for (const { name } of tables) {
    const rows = await world.warehouse(`select kept::text from ${name} as kept where kept::text ~* 'minji'`);
    expect({ name, rows }).toEqual({ name, rows: [] });
  }
});

test('forget user finds a number and a code with spaces, and no longer code', async ({ world }) => {
  await world.warehouse(`
    insert into warehouse.reviews (id, created_at, updated_at, user_code, message, order_code) values
      (1, now(), now(), '770077 ', 'mine', 'E'), (2, now(), now(), '1770077', 'of another', 'C');
    insert into sync.dead_letters (kind, key, reason, payload) values ('order_line', 'A/1', 'why', '{"invoice": 1}'),
      ('order', 'A', 'why', '{"order": {"user_code": 770077}}'), ('order', 'B', 'why', '{"order": {"user_code": "770077 "}}'),
      ('order', 'C', 'why', '{"order": {"user_code": 1770077}}'), ('order', 'D', 'why', '{"order": {"user_code": "7700771"}}');
    update sync.dead_letters set order_code = left(key, 1);
    insert into sync.order_links (order_code, fingerprint) values ('A', 'hash'), ('C', 'hash'), ('E', 'hash')`);
  expect(await world.json('forget user 770077')).toMatchObject({ reviews: 1, deadLetters: 3, contacts: 2 });
  expect(await world.cli('forget user', ' 770077', '--apply')).toMatchObject({ status: 0 });
  const messages = valuesOf(await world.warehouse('select message from warehouse.reviews order by id'));
  expect(messages).toEqual([null, 'of another']);
  const whole = `select key from sync.dead_letters where payload <> 'null' order by key`;
  expect(valuesOf(await world.warehouse(whole))).toEqual(['C', 'D']);

  // The value of another field is no customer: forget user 5 changes no five stars.
  await world.warehouse(`
    insert into warehouse.reviews (id, created_at, updated_at, user_id, user_code, message, score, order_code) values
      (5, now(), now(), 5, 'kim', 'of kim', 5, '5');
    insert into sync.order_links (order_code, order_id, fingerprint, contact) values ('5', 5, 'hash', 'allowed');
    insert into sync.sub_order_links (order_code, line_code, sub_order_id, is_ours, content)
    values ('5', '5', 5, true, '{"product_options": {"size": "5"}, "invoice": "5", "price": "5"}');
    insert into sync.dead_letters (kind, key, reason, payload, order_code) values
      ('order', '5', 'why', '{"order": {"code": "5", "user_code": "kim", "total_price": 5}, "lines": [{"quantity": "5"}]}', '5'),
      ('order_line', '5/5', 'why', '{"order_code": "5", "line_code": "5"}', '5'),
      ('review', '5', 'why', '{"id": 5, "score": 5, "user_code": "kim", "order_code": "5"}', null),
      ('category', '5', 'why', '{"code": "5", "user_code": "5"}', null)`);
  const before = await everything(world);
  const none = { reviews: 0, deadLetters: 0, orderLines: 0, contacts: 0 };
  expect(await world.json('forget user 5 --apply')).toMatchObject(none);
  expect(await everything(world)).toBe(before);
});

test('a review whose dead letter forget masked is still missing', async ({ world }) => {
  await world.atService(
    `insert into reference_service.reviews (message, score, user_code, created_at, updated_at)
     select 'review ' || n, 5, 'kim', now() - n * interval '1 day', now() - n * interval '1 day' from generate_series(1, 2) n`,
  );
  await world.warehouse(`alter table warehouse.reviews add constraint bad check (message <> 'review 2')`);
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete' });
  expect(await world.cli('forget user kim --apply')).toMatchObject({ status: 0 });
  const open = () => world.warehouse('select payload, resolved_at from sync.dead_letters');
  expect(await open()).toEqual([{ payload: null, resolved_at: null }]);
  // The review is still at the service, and not in the warehouse.
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'incomplete' });
  await world.warehouse('alter table warehouse.reviews drop constraint bad');
  expect(await world.cli('dead-letters retry')).toMatchObject({ status: 0 });
  expect(await world.warehouse(`select message from warehouse.reviews where message = 'review 2'`)).toHaveLength(1);
});

test('forget order masks a guest; comments and dead letters kept as text go too', async ({ world }) => {
  await world.warehouse(`
    insert into warehouse.reviews (id, created_at, updated_at, user_code, user_name, message, order_code, extra) values
      (1, now(), now(), null, 'Guest Minji', 'from Minji', 'GUEST', '{}'),
      (2, now(), now(), null, 'Minji', 'without login', 'ORDER-2', '{}'),
      (4, now(), now(), null, 'Minji', 'without login', 'ORDER-4', '{}'),
      (3, now(), now(), 'another', 'Park', 'fine', null,
        '{"comments": [{"user_code": "${customer}", "message": "minji was here"}, {"user_code": "another", "message": "thanks"}]}');
    insert into sync.order_links (order_code, failed_pushes) values ('GUEST', 1);
    insert into sync.dead_letters (kind, key, reason, payload, order_code) values
      ('order', 'GUEST', 'Minji moved', '{"code": "GUEST", "user_name": "Minji"}', 'GUEST'),
      ('review', '7', 'why', '{"id": 7, "order_code": "GUEST ", "user_name": "Minji"}', null)`);
  const text = JSON.stringify({ id: 8, user_code: customer, message: 'Minji \u0000' });
  await world.warehouse(
    `insert into sync.dead_letters (kind, key, reason, payload) values ('review', '8', 'why', to_jsonb($1::text)),
      ('review', '9', 'why', jsonb_build_object('review', $2::text, 'base64', 'bWluamk='))`,
    [text.replaceAll('\u0000', ''), JSON.stringify({ user_code: customer })],
  );
  const guest =
    /review 1 of a guest, order GUEST\n- order GUEST\n- dead letter \d+: order GUEST\n- dead letter \d+: review 7/;
  await world.says('forget order GUEST --apply', guest);
  const user = await world.json(`forget user ${customer} --order ORDER-2 --order ORDER-4 --apply`);
  expect(user).toMatchObject({ reviews: 2, comments: 1, deadLetters: 2 });
  const masked = { message: null, extra: {} };
  const comments = [{ forgotten: true }, { user_code: 'another', message: 'thanks' }];
  const fine = { message: 'fine', extra: { comments } };
  const reviews = await world.warehouse('select message, extra from warehouse.reviews order by id');
  expect(reviews).toEqual([masked, masked, fine, masked]);
  // An order that could never be read: no push has decided about its contact yet.
  expect(await world.warehouse('select contact from sync.order_links')).toEqual([{ contact: 'forgotten' }]);
  const named = `select key from sync.dead_letters where payload <> 'null' or reason ~ 'Minji'`;
  expect(await world.warehouse(named)).toEqual([]);
});

test('a dead letter that is over holds its record no longer, and goes after 90 days', async ({ world }) => {
  await fill(world);
  await world.warehouse(`update sync.dead_letters set resolved_at = now() where kind = 'review'`);
  const [order] = await world.warehouse<{ id: string }>(`select id from sync.dead_letters where key = 'ORDER-1'`);
  expect(await world.cli('dead-letters discard', String(order?.id))).toMatchObject({ status: 0 });
  const kept = `select key from sync.dead_letters where payload is distinct from 'null'`;
  expect(await world.warehouse(kept)).toEqual([{ key: 'ORDER-9' }]);
  // The same failure stays discarded: it is recognised by its reason.
  expect(await world.cli('forget order ORDER-1 --apply')).toMatchObject({ status: 0 });
  const discarded = await world.warehouse('select key, reason from sync.dead_letters where is_discarded');
  expect(discarded).toEqual([{ key: 'ORDER-1', reason: 'why' }]);
  await world.warehouse(
    `update sync.dead_letters set last_failed_at = now() - interval '91 days', resolved_at = now() - interval '91 days'`,
  );
  await world.run('reconcile-reviews');
  expect(await world.warehouse('select from sync.dead_letters')).toEqual([]);
});
