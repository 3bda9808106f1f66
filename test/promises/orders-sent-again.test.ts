import { expect } from 'vitest';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';
import { line, order } from '../harness/shop-orders.ts';

const isCreate = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/sub_orders');
const small = { product: 7, price: '10', size: 'S' };
const medium = { product: 7, price: '10', size: 'M' };
const changed = (set: string) => `update l set ${set} where line_code = '1'; update o set updated_at = now()`;

/**
 * An order with a line of size S, which is never touched, and one of size M, whose creation was sent `sent` times. The
 * service carries these requests out only when `appear` is called. The run is over by then, and no response has shown a
 * sub-order of it.
 */
async function lostCreation(world: OrderWorld) {
  const [inM, inS] = ['M', 'S'].map((size) => ({ product_options: { size } }));
  await world.place(order('A', line('1', 7, inM), line('2', 7, inS)));
  const late = Promise.withResolvers<void>();
  world.serviceRule((request) =>
    isCreate(request) && request.form.getAll('product_options[]').join().endsWith('M')
      ? { carriedOutAfter: late.promise }
      : 'pass',
  );
  expect(await world.sync()).toMatchObject({ sub_orders_added: 1, lines_failed: 1 });
  const sent = world.requests().filter(isCreate).length - 1;
  world.serviceRule(() => 'pass');
  /** What verify says of sub-orders that no line has and no push removes. */
  const unmatched = async () => {
    const { stdout } = await world.cli('verify', 'orders', '--json');
    return (JSON.parse(stdout) as { unmatched: { subOrders: number; codes: string[] } }).unmatched;
  };
  const subOrders = () =>
    world.atService<{ product: number; price: string; size: string | null }>(`select product_id::integer as product,
      price::text, product_options ->> 'size' as size from reference_service.sub_orders order by size, price`);
  const appear = async () => {
    const before = (await subOrders()).length;
    late.resolve();
    await expect.poll(async () => (await subOrders()).length, { timeout: 20_000 }).toBe(before + sent);
  };
  /** The run that looks for second sub-orders, an hour after they were sent. */
  const check = async () => {
    await world.timePasses('1 hour');
    return world.sync();
  };
  return { subOrders, appear, check, unmatched, sent };
}

test.for([
  ['changes', 'before', changed('price = 20, product_id = 8'), [{ product: 8, price: '20', size: 'M' }]],
  [
    'changes',
    'after',
    changed(`price = 20, product_options = '{"size": "L"}'`),
    [{ ...medium, price: '20', size: 'L' }],
  ],
  ['removes', 'before', `delete from l where line_code = '1'; update o set updated_at = now()`, []],
  ['removes', 'after', `delete from l where line_code = '1'; update o set updated_at = now()`, []],
  ['gives a new code to', 'before', changed(`line_code = 'new'`), [medium]],
] as const)(
  'the shop %s a line %s it is sent again: verify names what appears late',
  async ([_, when, change, expected], { world }) => {
    const { subOrders, appear, check, unmatched, sent } = await lostCreation(world);
    if (when === 'after') expect(await world.sync()).toMatchObject({ sub_orders_added: 1 });
    await world.shop(change);
    await world.sync();
    const right = await subOrders();
    expect(right).toHaveLength(expected.length + 1);
    expect(right).toEqual(expect.arrayContaining([...expected, small]));
    await appear();
    await check();
    expect(await subOrders()).toHaveLength(expected.length + 1 + sent);
    expect(await unmatched()).toMatchObject({ subOrders: sent, codes: ['A'] });
  },
);

test('verify names a second sub-order as one that a push removes, and --repair does', async ({ world }) => {
  const { subOrders, appear } = await lostCreation(world);
  expect(await world.sync()).toMatchObject({ sub_orders_added: 1 });
  await appear();
  const verified = await world.cli('verify', 'orders', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({ differing: 1, unmatched: { subOrders: 0 } });
  await world.cli('verify', 'orders', '--repair');
  expect(await subOrders()).toEqual([medium, small]);
});

test.for([429, 401])('what a service made that answers %i is removed an hour later', async (status, { world }) => {
  await world.place(order('A', line('1', 7)), order('B', line('1', 7)));
  let left = 1;
  world.serviceRule((request) => (isCreate(request) && left-- > 0 ? { carriedOutWith: status } : 'pass'));
  expect(await world.sync()).toMatchObject({ sub_orders_added: 2 });
  const count = async () => (await world.atService('select from reference_service.sub_orders')).length;
  expect(await count()).toBe(3);
  await world.timePasses('59 minutes');
  await world.sync();
  expect(await count()).toBe(3);
  await world.timePasses('1 minute');
  // Refused once, it goes a day later.
  world.serviceRule(({ method }) => (method === 'DELETE' ? { status: 403 } : 'pass'));
  await world.sync();
  expect(world.requests().map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  expect(await world.openDeadLetters()).not.toEqual([]);
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  expect(await world.sync()).toMatchObject({ sub_orders_removed: 1 });
  expect([await count(), await world.openDeadLetters()]).toEqual([2, []]);
  // It is looked for no more.
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  await world.sync();
  expect(world.requests()).toEqual([]);
});
