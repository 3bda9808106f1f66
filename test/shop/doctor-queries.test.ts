import { beforeAll, expect } from 'vitest';
import { growSampleShop } from '../../src/sandbox/sample-shop/grow.ts';
import { runCli } from '../harness/cli.ts';
import { sampleShopQueries } from '../harness/order-world.ts';
import { type OpenWorld, openWorld, worldTest as test, type World } from '../harness/world.ts';

/**
 * doctor says which query reads a whole table, what that costs, and what helps; and finds values in a wrong unit or
 * zone.
 */

/** A world of the sample shop with 30,000 orders more, so that an index is worth it, which each test copies. */
let grown: World;
beforeAll(async () => {
  grown = await openWorld();
  await grown.shop(growSampleShop(30_000));
  await grown[Symbol.asyncDispose]();
});

/** The grown shop; its queries edited. */
async function grownShop(open: OpenWorld, edit: Record<string, (sql: string) => string> = {}): Promise<World> {
  return open({ copyOf: grown, environment: { SHOP_SQL_DIR: await sampleShopQueries(edit) } });
}

async function findings(world: World): Promise<string[]> {
  const { stdout } = await runCli(['doctor', '--json'], world.environment);
  const all = (JSON.parse(stdout) as { findings: { area: string; what: string; hint?: string; level: string }[] })
    .findings;
  return all.filter(({ area }) => area === 'shop').map(({ level, what, hint }) => `${level}: ${what} → ${hint ?? ''}`);
}
const about = (found: readonly string[], part: string) => found.filter((one) => one.includes(part));

test('the shipped queries read no large table as a whole, and doctor times them', async ({ openWorld }) => {
  const world = await grownShop(openWorld);
  const found = await findings(world);
  expect(about(found, 'the whole of')).toEqual([]);
  expect(about(found, 'no statement reads a large table as a whole')).toEqual([
    expect.stringMatching(/^ok: .* \d+ ms to find 200 orders by code, \d+ ms to find the lines of 200 orders/),
  ]);
});

test('minor units, unknown statuses and dates in a wrong zone are named', async ({ openWorld }) => {
  const world = await grownShop(openWorld, {
    order_lines: (sql) =>
      sql
        .replace('i.unit_price::numeric * i.quantity as price', 'i.unit_price::numeric * i.quantity * 100 as price')
        .replace("when 'N10' then 'paid'", "when 'N40' then 'angekommen'")
        .replace('coalesce(s.shipped_at,', "coalesce(s.shipped_at - interval '30 days',"),
    changed_orders: (sql) =>
      sql.replaceAll(/([ois])\.modified_at( as changed_at)?\n/g, "date_trunc('day', $1.modified_at)$2\n"),
  });
  const found = await findings(world);
  expect(about(found, 'minor units')).toEqual([
    expect.stringMatching(
      /^warning: order_lines\.sql: the lines add up to \d{4,} % of total_price in the middle order: minor units\? → .*100\.0/,
    ),
  ]);
  expect(about(found, 'nor a preset uses')).toEqual([
    expect.stringMatching(/"angekommen" \d+ times → map them .*delivery_finished/),
  ]);
  expect(about(found, 'a day without a time')).toEqual([
    expect.stringMatching(
      /^warning: changed_orders\.sql: changed_at has one time of day in all of the newest \d+ changes.* → select the date with its time/,
    ),
  ]);
  expect(about(found, 'delivery_started_at before')).toEqual([
    expect.stringMatching(/<expression> at time zone '<zone in which the shop writes it>' as delivery_started_at/),
  ]);
});
