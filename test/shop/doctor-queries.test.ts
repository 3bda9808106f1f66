import { expect } from 'vitest';
import { growSampleShop } from '../../src/sandbox/sample-shop/grow.ts';
import { sampleShopQueries } from '../harness/order-world.ts';
import { shopFindings } from '../harness/shop-servers.ts';
import { worldTest as test } from '../harness/world.ts';

const about = (found: readonly string[], part: string) => found.filter((one) => one.includes(part));

test('the shipped queries read no large table as a whole, and doctor times them', async ({ openWorld }) => {
  const world = await openWorld({ shop: 'sample' });
  await world.shop(growSampleShop(21_000));
  const shipped = await shopFindings(world);
  expect(about(shipped, 'the whole of')).toEqual([]);
  expect(about(shipped, 'no statement reads a large table as a whole')).toEqual([
    expect.stringMatching(/^ok: .* \d+ ms to find 200 orders by code, \d+ ms to find the lines of 200 orders/),
  ]);

  // Minor units, unknown statuses and dates in a wrong zone are named, with what to write.
  world.environment.SHOP_SQL_DIR = await sampleShopQueries({
    order_lines: (sql) =>
      sql
        .replace('i.unit_price::numeric * i.quantity as price', 'i.unit_price::numeric * i.quantity * 100 as price')
        .replace("when 'N10' then 'paid'", "when 'N40' then 'angekommen'")
        .replace('coalesce(s.shipped_at,', "coalesce(s.shipped_at - interval '30 days',"),
  });
  const found = (await shopFindings(world)).join('\n');
  for (const finding of [
    /^warning: order_lines\.sql: in the median order, the lines add up to \d{4,} % of total_price; .* → .*100\.0/m,
    /"angekommen" \d+ times → map them .*delivery_finished/,
    /<expression> at time zone '<zone in which the shop writes it>' as delivery_started_at/,
  ])
    expect(found).toMatch(finding);
});
