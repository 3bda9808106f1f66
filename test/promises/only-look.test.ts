import { expect } from 'vitest';
import { line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import { reviewAt } from '../harness/world.ts';

/** Every row of the warehouse, which holds the queue too, and of the shop. Each capture of the overview is kept. */
async function everyRow({ warehouse, shop }: OrderWorld): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const query of [warehouse, shop]) {
    const tables = await query<{ name: string }>(`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema') and tablename <> 'review_overview' order by 1`);
    const all = tables.map(({ name }) => `select '${name}' as in_table, to_jsonb(t) as row from ${name} t`);
    rows.push(...(await query(`select * from (${all.join(' union all ')}) every order by in_table, row::text`)));
  }
  return rows;
}

async function makeDifferences(world: OrderWorld): Promise<void> {
  await world.seedReviews([1, 2, 3, 4].map((days) => reviewAt(Date.now() - days * 86_400_000)));
  await world.place(
    order('EQUAL', line('1', 7)),
    order('CHANGED', { user_email: 'kim@example.com' }, line('1', 7), line('2', 8)),
    order('WAITS', line('1', 'unknown')),
    order('GONE', line('1', 7)),
    order('DELETED', line('1', 7)),
    order('BROKEN OFF', line('1', 7)),
    order('BAD', line('1', 7)),
  );
  await world.shop(`update o set order_device = 'television' where code = 'BAD'`);
  expect((await world.cli('sync orders')).status).toBe(1);
  expect((await world.cli('sync reviews')).status).toBe(0);
  await world.warehouse(`update sync.order_links set lease_owner = 'dead', lease_expires_at = now() - interval '1 hour'
    where order_code = 'BROKEN OFF'`);
  await world.shop(`
    update o set total_price = 77, user_email = null where code = 'CHANGED';
    delete from l where order_code = 'CHANGED' and line_code = '2';
    update o set deleted_at = now() where code = 'DELETED';
    delete from o where code = 'GONE'`);
  await world.place(order('NEW', { user_email: 'lee@example.com' }, line('1', 7)));
  await world.atService(`
    update reference_service.reviews set message = 'edited', updated_at = now() where id = 1;
    update reference_service.reviews set created_at = '1999-01-01', updated_at = '1999-01-01' where id = 2;
    delete from reference_service.reviews where id = 3`);
}

test('a command that only looks changes no row anywhere and sends nothing but GET', async ({ openWorld }) => {
  const world = await openWorld({ environment: { ORDER_DELETES: 'send' } });
  await makeDifferences(world);
  const looks = [
    ['status'],
    ['runs'],
    ['doctor'],
    ['verify', 'reviews'],
    ['verify', 'orders'],
    ['sync', 'orders', '--dry-run'],
    ['backfill', 'orders', '--dry-run', '--diff'],
    ['backfill', 'reviews', '--dry-run'],
    ...['orders', 'reviews'].map((what) => ['backfill', what, '--dry-run', '--detach']),
    ['forget', 'user', 'kim'],
    ['forget', 'order', 'CHANGED'],
    ['init', '--list'],
    ['dead-letters'],
    ['dead-letters', 'show', '1'],
    ...['CHANGED', 'BROKEN OFF', 'NEW'].map((code) => ['preview', 'order', code]),
    ...['DELETED', 'BAD'].map((code) => ['explain', 'order', code]),
    ...['1', '3'].map((id) => ['explain', 'review', id]),
  ];
  const before = await everyRow(world);
  world.serviceRule(() => 'pass');
  for (const look of looks) {
    const end = await world.cli(...look);
    expect(end.stderr).not.toMatch(/unknown (command|option)/);
    expect({ look, sent: world.requests().filter(({ method }) => method !== 'GET') }).toEqual({ look, sent: [] });
  }
  // Once for all looks: each row names its table.
  expect(await everyRow(world)).toEqual(before);
});

test('a command that starts no run needs no queue', async ({ openWorld }) => {
  const world = await openWorld({ environment: { QUEUE_URL: 'redis://127.0.0.1:1' } });
  await world.place(order('A', line('1', 7)));
  await world.seedReviews([reviewAt(Date.now() - 86_400_000)]);
  const inVain = ['sync orders'];
  const looks = ['explain order A', 'preview order A', 'explain review 1', 'sync orders --dry-run'];
  const ofDays = ['backfill orders --diff', 'backfill orders --dry-run', 'backfill reviews --dry-run'];
  const repairs = ['verify orders --repair', 'verify reviews --repair'];
  const failed = [];
  for (const command of [...inVain, ...looks, ...ofDays, ...repairs])
    if ((await world.cli(command)).status !== 0) failed.push(command);
  expect(failed).toEqual(inVain);
});
