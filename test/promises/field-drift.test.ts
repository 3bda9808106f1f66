import { expect, test } from 'vitest';
import { openFieldShapes } from '../../src/warehouse/field-shapes.ts';
import { acceptWebhook } from '../../src/webhooks/accept-webhook.ts';
import { startChangingProxy } from '../harness/proxy.ts';
import { openWorld } from '../harness/world.ts';

type Fields = Record<string, unknown>;

/** A world whose service shows reviews and orders as `change` leaves them. */
async function changingWorld() {
  const world = await openWorld();
  const changes: { change(fields: Fields): void } = { change() {} };
  await world.through((target) =>
    startChangingProxy(target, {
      answer({ body }, { path }) {
        if (/^\/v1\/reviews$/.test(path) && Array.isArray(body))
          for (const one of body as Fields[]) changes.change(one);
      },
    }),
  );
  const drift = () =>
    world.warehouse(
      `select record, field, change, example_type as type, records > 0 as "isSeen" from bi.field_drift order by 1, 2, 3`,
    );
  return { world, changes, drift };
}

test('a field that is new, gone, null or of another type is said once', async () => {
  const { world, changes, drift } = await changingWorld();
  await using _world = world;
  let number = 0;
  // On every third review: it comes and goes by record.
  const usual = (one: Fields) => {
    number += 1;
    if (number % 3 === 0) one.badge = 'top';
  };
  changes.change = usual;
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  expect(await world.cli('backfill', 'reviews')).toMatchObject({ status: 0 });
  expect(await drift()).toEqual([]);
  const [before] = await world.warehouse('select sum(likes_count)::integer as likes from warehouse.reviews');
  changes.change = (one) => {
    usual(one);
    one.loyalty_tier = 'gold';
    delete one.likes_count;
    one.product_code = null;
    if (one.score !== null) one.score = String(one.score);
    one.source = 'kiosk';
  };
  await world.warehouse('delete from sync.export_windows');
  expect(await world.cli('backfill', 'reviews')).toMatchObject({ status: 0 });
  const found = [
    { record: 'review', field: 'likes_count', change: 'gone', type: 'number', isSeen: true },
    { record: 'review', field: 'loyalty_tier', change: 'new', type: 'string', isSeen: true },
    { record: 'review', field: 'product_code', change: 'null', type: 'null', isSeen: true },
    { record: 'review', field: 'score', change: 'type', type: 'string', isSeen: true },
    { record: 'review', field: 'source', change: 'value', type: 'string', isSeen: true },
  ];
  expect(await drift()).toEqual(found);
  expect(await world.warehouse('select sum(likes_count)::integer as likes from warehouse.reviews')).toEqual([before]);
  const { stdout } = await world.cli('status');
  expect(stdout).toMatch(
    /since .* UTC likes_count of a review is missing from all records; columns keep their last value/,
  );
  expect(stdout).toContain('review-sync migrate --accept-gone likes_count');
  expect(stdout).not.toContain('kiosk');
  expect((await world.cli('doctor')).stdout).toMatch(/loyalty_tier of a review now \(string\), which it did not/);

  for (const field of ['no_such_field', 'message'])
    expect(await world.cli('migrate', '--accept-gone', field)).toMatchObject({ status: 2 });
  expect(await world.cli('migrate', '--accept-gone', 'likes_count')).toMatchObject({ status: 0 });
  expect(await drift()).toEqual(found.slice(1));
  await world.warehouse('delete from sync.export_windows');
  await world.warehouse(`update warehouse.reviews set updated_at = updated_at - interval '1 second'`);
  expect(await world.cli('backfill', 'reviews')).toMatchObject({ status: 0 });
  expect(await world.warehouse('select count(likes_count)::integer as n from warehouse.reviews')).toEqual([{ n: 0 }]);
  // It has been null as well, and comes back as a number only: if it goes again, nobody has accepted that.
  await world.warehouse(`insert into sync.field_shapes select (jsonb_populate_record(s, '{"kind": "null"}')).*
    from sync.field_shapes s where field = 'likes_count'`);
  changes.change = usual;
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  expect(await drift()).not.toContainEqual(expect.objectContaining({ field: 'likes_count' }));
  const { warehouse } = await world.openApp();
  const shapes = openFieldShapes(warehouse);
  shapes.begin();
  await shapes.close();
  expect([...warehouse.acceptedGone]).toEqual([]);
});

test('orders and webhooks are looked at too, and thousands of names are one', async () => {
  await using world = await openWorld();
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  const kinds = `select distinct record from sync.field_shapes order by 1`;
  expect(await world.warehouse(kinds)).toEqual([{ record: 'order' }, { record: 'review' }, { record: 'sub_order' }]);
  const app = await world.openApp();
  const shapes = openFieldShapes(app.warehouse, 3_600_000);
  shapes.begin();
  const names = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, id) => [
      `id_${[...String(id)].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`,
      1,
    ]),
  );
  // A map may be keyed by what is a customer's own.
  shapes.see('event', [{ 'kim@example.com': 1, kim1990: 1, brand_id: 1, ...names }, 'no record', null]);
  await shapes.close();
  expect(
    await world.warehouse(`select count(*)::integer as n, sum(records) filter (where field = '…')::integer as others
      from sync.field_shapes where record = 'event'`),
  ).toEqual([{ n: 501, others: 9504 }]);
  expect(await acceptWebhook(app.warehouse.db, { brandIds: [] }, [])).toEqual({ status: 200 });
});
