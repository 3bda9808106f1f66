import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { systemsOf } from '../../src/app/run-rights.ts';
import { openLog } from '../../src/base/log.ts';
import { createRandom } from '../../src/sandbox/sample-shop/random.ts';
import { beginRun } from '../../src/warehouse/runs/runs.ts';
import { countByHand } from '../harness/count-by-hand.ts';
import { createDatabase } from '../harness/database.ts';
import { runOf } from '../harness/run-job.ts';
import { realClock } from './clock.ts';
import { watchContacts } from './contact.ts';
import { judgeOrders } from './judge-orders.ts';
import { judgeReviews } from './judge-reviews.ts';
import { judgeState } from './judge-state.ts';
import { type Moment, planSimulation } from './plan.ts';
import { usualRates } from './rates.ts';
import { serviceEvents } from './service-events.ts';
import { shopEvents } from './shop-events.ts';
import { simulate } from './simulate.ts';
import { command, openStage, type Setting, type Stage } from './stage.ts';

const setting: Setting = { zone: 'Europe/Berlin', dates: 'local', feed: 'feed', deletes: 'send', lastPageLink: 'real' };
const server = { createDatabase: () => createDatabase() };
/** These tests live in real time: all days are today. */
const clock = realClock;

let stage: Stage;

beforeAll(async () => {
  stage = await openStage(server, setting);
  await serviceEvents.reviewsOfOneSecond?.(stage, createRandom(1));
  await shopEvents.salesDay?.(stage, createRandom(2));
  for (const flow of ['reviews', 'orders']) expect((await command(stage, ['sync', flow])).stderr).not.toContain('→');
});

afterAll(() => stage.close());

async function judge(): Promise<string[]> {
  const facts = {
    isReconciled: true,
    absentSince: new Map(),
    differsSince: new Map(),
    backfilled: new Set<string>(),
    refusedOn: -9,
    day: 9,
  };
  const none = new Set<never>();
  const [orders, reviews] = [
    await judgeOrders(stage, { ...facts, unseen: none }),
    await judgeReviews(stage, { ...facts, unseen: none }),
  ];
  return [...orders, ...reviews];
}

const orderOf = (code: string) => `(select id from reference_service.orders where code = '${code}')`;

const defects: [name: string, break_: (stage: Stage) => Promise<unknown>, found: RegExp][] = [
  [
    'a sub-order that is there twice',
    ({ atService }) =>
      atService(`insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
        select order_id, product_id, price, now(), now() from reference_service.sub_orders where order_id = ${orderOf('O1')} limit 1`),
    /order O\d+: the service has sub-orders that the shop does not/,
  ],
  [
    'a sub-order that is missing',
    ({ atService }) => atService(`delete from reference_service.sub_orders where order_id = ${orderOf('O2')}`),
    /order O\d+: line \w+ .* is not at the service/,
  ],
  [
    'an order that is missing',
    ({ atService }) => atService(`delete from reference_service.orders where id = ${orderOf('O3')}`),
    /order O\d+: is missing at the service/,
  ],
  [
    'a total that differs',
    ({ atService }) =>
      atService(`update reference_service.orders set total_price = total_price + 1 where id = ${orderOf('O4')}`),
    /order O\d+: is .* in the shop and .* at the service/,
  ],
  [
    'an e-mail address that the shop cleared',
    ({ shop }) => shop(`update orders set email = null where code = 'O5'`),
    /order O5: has no email in the shop, but one at the service/,
  ],
  [
    'a dead letter without a cause',
    ({ warehouse }) =>
      warehouse(
        `insert into sync.dead_letters (kind, key, order_code, reason, payload) values ('order', 'O9', 'O9', 'bad', '{}')`,
      ),
    /order O9: is a dead letter though nothing is wrong with it: bad/,
  ],
  [
    'a review that is missing',
    ({ warehouse }) => warehouse(`delete from warehouse.reviews where id = (select min(id) from warehouse.reviews)`),
    /review \d+ is missing in the warehouse/,
  ],
  [
    'an older version of a review',
    ({ warehouse }) =>
      warehouse(`update warehouse.reviews set message = 'old' where id = (select max(id) from warehouse.reviews)`),
    /review \d+ is .* at the service and .*old.* in the warehouse/,
  ],
  [
    'a review that is gone and alive',
    ({ atService }) =>
      atService(`delete from reference_service.reviews where id = (select max(id) - 3 from reference_service.reviews)`),
    /review \d+ is gone from the service and alive in the warehouse/,
  ],
];

test('the judge finds nothing where both sides agree, and names each defect that is put in by hand', async () => {
  expect(await judge()).toEqual([]);
  for (const [name, breakIt, expected] of defects) {
    const before = await judge();
    await breakIt(stage);
    const found = (await judge()).filter((finding) => !before.includes(finding));
    expect([name, found]).toEqual([name, expect.arrayContaining([expect.stringMatching(expected)])]);
  }
});

test('state that grows beyond what it follows is found: runs of 90 days, or the orders and reviews that there are', async () => {
  const judgeRows = () => judgeState(stage, { ends: [], day: 9, openRuns: new Set() });
  // The test before has changed rows by hand.
  await countByHand(stage.environment.WAREHOUSE_DATABASE_URL ?? '');
  expect(await judgeRows()).toEqual([]);
  await stage.warehouse(`insert into sync.review_day_counts (day, has_photo, has_video, is_displayed, reviews, last_review_at)
    select date '2000-01-01' + n, false, false, true, 1, now() from generate_series(1, 2000) n`);
  await stage.warehouse(`insert into sync.export_windows (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
    select n::text, 'created', now(), now(), 1, 1, 1, now(), now() from generate_series(1, 2000) n`);
  const found = await judgeRows();
  expect(found.filter((one) => one.startsWith('sync.'))).toEqual([
    expect.stringMatching(/^sync.export_windows has 2\d{3} rows on day 9, expected at most 580$/),
    expect.stringMatching(/^sync.review_day_counts has 2\d{3} rows on day 9, expected at most \d{3}$/),
  ]);
  expect(found).toContainEqual(expect.stringMatching(/^bi.reviews_by_day differs from the rows: .*too much/));
  await stage.warehouse(`delete from sync.review_day_counts where day < '2010-01-01'`);
  await stage.warehouse('truncate sync.export_windows');
});

test('a comparison sees both sides as they were when it began, whatever happens meanwhile', async () => {
  const { sides, release } = await stage.freeze();
  const sql = `select total_price from reference_service.orders where code = 'O5'`;
  const [before] = await stage.atService(sql);
  await stage.atService(`update reference_service.orders set total_price = total_price + 1 where code = 'O5'`);
  expect([await sides.atService(sql), await stage.atService(sql)]).toEqual([
    [before],
    [expect.not.objectContaining(before ?? {})],
  ]);
  await release();
});

test('a simulation names the day on which something was broken in secret', async () => {
  const { days, ...plan } = planSimulation(3, 3, {
    events: { newOrders: 1, newReviews: 1 },
    faults: { tokensExpire: 1 },
  });
  const quiet = days.map((day) => ({ ...day, isOffline: false, moments: day.moments.slice(0, 1) }));
  const simulated = await simulate(
    { ...plan, days: quiet },
    {
      server,
      clock,
      sabotage: async ({ atService }, day) => {
        if (day === 2) await atService(`update reference_service.orders set total_price = 12345`);
      },
    },
  );
  expect(simulated.failure).toMatchObject({
    day: 2,
    findings: expect.arrayContaining([expect.stringContaining('12345')]),
  });
});

test('a run that is open on two quiet evenings is found, one of the schedule too', async () => {
  const openRuns = new Set<string>();
  const judgeRuns = async () => {
    const found = await judgeState(stage, { ends: [], day: 9, openRuns });
    return found.filter((one) => one.startsWith('runs'));
  };
  await stage.warehouse(`insert into sync.runs (id, job, started_by, started_at)
    values ('killed', 'sync-orders', 'command', now()), ('left', 'sync-orders', 'schedule', now())`);
  expect(await judgeRuns()).toEqual([]);
  expect(await judgeRuns()).toEqual([expect.stringMatching(/not ended.*: (killed, left|left, killed)$/)]);
  await stage.warehouse(`delete from sync.runs where id in ('killed', 'left')`);
});

test('a worker ends a scheduled run that was left, and what webhooks announced and did not bring is found at once', async () => {
  const { days: _, ...plan } = planSimulation(3, 1, usualRates);
  const days = ['newReviews', 'reviewsOfOneSecond'].map((kind, index) => {
    const moments: Moment[] = [{ hour: 9, events: [{ kind, seed: 1 }], runs: ['serve'] }];
    return { number: index + 1, isOffline: false, moments };
  });
  const firstEvening: unknown[] = [];
  const { failure, tally } = await simulate(
    { ...plan, days },
    {
      server,
      clock,
      sabotage: async ({ environment, warehouse }, day) => {
        if (day === 2) {
          await warehouse(`create function forget() returns trigger language plpgsql as 'begin return null; end';
            create trigger forget before insert on warehouse.reviews for each row execute function forget()`);
          return;
        }
        await using app = await openApp(readConfig(environment), { log: openLog('fatal') });
        await app.queues.add('sync-orders', 'left');
        const left = { id: 'left', startedBy: 'schedule', systems: systemsOf(app.config) } as const;
        await beginRun(app.warehouse.db, runOf('sync-orders', left));
      },
      onDay: async (_day, story, { warehouse }) => {
        firstEvening.push(story.at(-1), ...(await warehouse(`select outcome from sync.runs where id = 'left'`)));
      },
    },
  );
  expect(firstEvening).toEqual([expect.stringContaining('worker: 0'), { outcome: 'done' }]);
  expect(tally.comparisons.get('reviews of webhooks')).toBe(2);
  expect(failure).toMatchObject({
    day: 2,
    findings: expect.arrayContaining([expect.stringMatching(/review \d+ is missing in the warehouse/)]),
  });
  expect(failure?.story.at(-1)).toContain('serve: 0');
});

test('a seed always gives the same plan, and another seed another one', () => {
  const planOf = (seed: number) => planSimulation(seed, 30, usualRates);
  expect(planOf(1)).toEqual(planOf(1));
  expect(planOf(1)).not.toEqual(planOf(2));
});

test('only a value that is new to the service counts as disclosed, and a backfill may disclose nothing of a young order either', () => {
  const watch = watchContacts();
  const post = (code: string, user_email: string, daysAgo = 0) => {
    const created_at = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
    watch.see({ method: 'POST', path: '/v1/orders', form: new URLSearchParams({ code, created_at, user_email }) });
  };
  post('A', 'a@example.com');
  post('A', 'a@example.com', 31);
  expect(watch.take()).toEqual([]);
  post('A', 'b@example.com', 31);
  expect(watch.take()).toEqual([expect.stringContaining('its user_email was disclosed')]);
  watch.forget('A');
  post('A', 'a@example.com', 31);
  expect(watch.take()).toHaveLength(1);
  watch.expectBackfill('only');
  post('A', 'a@example.com');
  expect(watch.take()).toEqual([]);
  post('B', 'b@example.com');
  expect(watch.take()).toEqual([expect.stringContaining('order B')]);
});
