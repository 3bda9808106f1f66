import { expect } from 'vitest';
import { startHere } from '../harness/cli.ts';
import { reviewAt, worldTest as test } from '../harness/world.ts';

test('show, retry and discard name what is no dead letter, and change nothing', async ({ world }) => {
  // The first of two reviews is a dead letter.
  const review = reviewAt(Date.now() - 86_400_000);
  await world.seedReviews([review, review]);
  await world.warehouse('alter table warehouse.reviews add constraint bad check (id <> 1)');
  await world.ends(1, 'sync reviews');
  for (const [command, id, said] of [
    ['show', 'abc', '"abc" is not the id of a dead letter'],
    ['retry', '0', '"0" is not the id'],
    ['discard', 'abc', '"abc" is not the id'],
    ['show', '9007199254740991', 'There is no dead letter 9007199254740991'],
    ['show', '9007199254740992', 'is not the id'],
    ...['show', 'retry', 'discard'].map((command) => [command, '4711', 'There is no dead letter 4711'] as const),
  ] as const)
    await world.ends(2, `dead-letters ${command} ${id}`, said);
  await world.ends(2, 'dead-letters discard 1 4711');
  await world.says('dead-letters', /^kind +count +.*\nreview +1 +1 +1 +20\d\d-\d\d-\d\d \S+ +\S.*\n\nShow one: /);
  const letter = { id: 1, kind: 'review', key: '1', payload: { message: 'a review' } };
  expect(await world.json('dead-letters show 1')).toMatchObject(letter);
  // The record of one that is closed may be open under another id; nothing is left of a webhook that was discarded.
  const others = await world.warehouse(`
    insert into sync.dead_letters (kind, key, reason, payload, resolved_at, is_discarded) values ('category', 'a', 'r', '{}', null, false), ('webhook', 'd', 'r', '[]', now(), false),
      ('webhook', 'd', 'r', '[{}]', null, false), ('webhook', 'e', 'r', '[]', now(), true) returning id`);
  const [category, old, , webhook] = others.map(({ id }) => String(id)) as [string, string, string, string];
  const retry = 'dead-letters retry';
  await world.ends(1, `${retry} 1`, '0 of 1 record: synced, or gone from the shop. Open: 3; see: ');
  // Others that are open are no failure of the one that was named.
  await world.warehouse('alter table warehouse.reviews drop constraint bad');
  await world.ends(0, `${retry} 1`, '1 of 1 record: synced, or gone from the shop. Open: 2; see: ');
  // It is closed now, and does not open again.
  await world.ends(0, `${retry} 1`, '0 of 0 records');
  const notRetried = new RegExp(`^\\d of 1 record: .*\nNot retried: ${webhook} is discarded, and a webhook`);
  await world.ends(1, `${retry} ${old} ${webhook}`, notRetried);
  await world.ends(1, `${retry} ${webhook}`);
  await world.ends(0, `dead-letters discard ${category}`, /^1 of 1 discarded\.\n/);
  const open = `select from sync.dead_letters where resolved_at is null and kind = 'category'`;
  expect(await world.warehouse(open)).toEqual([]);
});

test('without its shop queries a command that reads the shop exits 2, a worker goes on', async ({ world }) => {
  world.environment.SHOP_SQL_DIR = '/nowhere';
  for (const command of ['sync orders', 'sync catalog', 'backfill orders', 'verify orders', 'sync orders --dry-run'])
    await world.ends(2, command, '/nowhere/');
  expect(await world.warehouse('select from sync.runs')).toEqual([]);
  await world.ends(0, 'sync reviews');
  const worker = startHere(['worker'], { ...world.environment, LOG_LEVEL: 'info' });
  await worker.says('orders and catalog cannot be synced: The shop query /nowhere/orders.sql is missing');
  await worker.says('worker ready');
});
