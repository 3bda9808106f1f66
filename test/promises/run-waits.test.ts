import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-shop.ts';
import { startRuleProxy } from '../harness/proxy.ts';
import { openServe } from '../harness/serve.ts';

const token = 'a-token-of-the-page-that-is-long-enough';

test('a run says how long it waited for the service, for its ceiling and for leases, in status and on its page', async () => {
  await using serving = await openServe({ STATUS_TOKEN: token });
  const { world } = serving;
  await createOrderShop(world.shopUrl);
  await world.shop(`insert into o (code) select 'O' || n from generate_series(1, 20) n`);
  const proxy = await startRuleProxy(world.serviceUrl);
  onTestFinished(() => proxy.close());
  const environment = {
    ...world.environment,
    SHOP_SQL_DIR: await orderShopQueries(),
    REVIEW_API_BASE_URL: proxy.url,
    REVIEW_API_REQUESTS_PER_SECOND: '40',
  };
  const refused = new Map<string, number>();
  proxy.use(async ({ method, form }) => {
    const code = form.get('code') ?? '';
    const sent = refused.get(code) ?? 0;
    const status = { O3: 429, O7: 503 }[code];
    if (method !== 'POST' || status === undefined || sent > 1) return 'pass';
    refused.set(code, sent + 1);
    // By its second attempt the run has found that another process has the lease of O9.
    if (code === 'O7' && sent === 1)
      await world.warehouse(
        `update sync.order_links set lease_owner = null, lease_expires_at = null where lease_owner = 'another'`,
      );
    return { status };
  });
  await world.warehouse(`insert into sync.order_links (order_code, lease_owner, lease_expires_at)
    values ('O9', 'another', clock_timestamp() + interval '1 hour')`);
  expect(await runCli(['sync', 'orders'], environment)).toMatchObject({ status: 0 });

  const [run] = JSON.parse((await runCli(['status', '--json'], environment)).stdout).runs;
  const above0 = expect.toSatisfy((seconds: number) => seconds > 0 && seconds < 60);
  expect(run.waits).toEqual({ ceiling: above0, retry_after: above0, outage: above0, lease: above0 });
  const page = async (id: string) =>
    (
      await fetch(`${serving.url}/runs/${encodeURIComponent(id)}`, {
        headers: { authorization: `Bearer ${token}` },
      })
    ).text();
  const shown = await page(run.id);
  for (const words of ['asked for fewer requests', 'ceiling of requests', 'could not be reached', 'had the lease']) {
    expect(shown).toContain(words);
  }

  // The next run has nothing to wait for.
  expect(await runCli(['sync', 'orders'], environment)).toMatchObject({ status: 0 });
  const [next] = JSON.parse((await runCli(['status', '--json'], environment)).stdout).runs;
  expect(next).toMatchObject({ waits: {} });
  expect(await page(next.id)).not.toContain('had the lease');
});
