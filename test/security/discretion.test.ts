import { expect, test } from 'vitest';
import { addressOf, runCli, startHere, until } from '../harness/cli.ts';
import { valuesOf } from '../harness/database.ts';
import { orderShopQueries, orderShopSchema } from '../harness/order-world.ts';
import { startChangingProxy } from '../harness/proxy.ts';
import { hourlyReviews, openWorld, postWebhook } from '../harness/world.ts';
import { startReceiver } from '../sandbox/reference-service/webhook-receiver.ts';

const name = 'Kim Minji';
const email = 'Minji.Kim@한글도메인.kr';
const phone = '821012345678';
const everything = `${name} ${email} ${phone}`;

/** Whatever could be recognised of the customer: in any case, encoded, with any separators. */
const traces: readonly [what: string, pattern: RegExp][] = [
  ['name', /minji/i],
  ['e-mail', /한글도메인|xn--bj0bj06e|%ED%95%9C%EA%B8%80|\\ud55c\\uae00/i],
  ['phone', /1[\s.()+-]*0[\s.()-]*1[\s.()-]*2[\s.()-]*3[\s.()-]*4[\s.()-]*5[\s.()-]*6[\s.()-]*7[\s.()-]*8/],
];

function tracesIn(outputs: Readonly<Record<string, string>>): string[] {
  return Object.entries(outputs).flatMap(([where, text]) =>
    traces.flatMap(([what, pattern]) => {
      const at = text.search(pattern);
      return at < 0 ? [] : [`${what} in ${where}: …${text.slice(Math.max(0, at - 150), at + 60)}`];
    }),
  );
}

/** Orders and lines that hold the customer in every column which is no key; the casts fail for some. */
const shopQueries = {
  categories: `select code, name, status from c`,
  user_grades: `select user_name::integer::text as code, 'x' as name from o`,
};

const shopTables = `${orderShopSchema};
  alter table o add user_name text, add user_grade_code text, add store_name text, add mileage integer;
  alter table l add delivery_service text, add delivery_started_at timestamptz, add delivered_at timestamptz;
  create table c (code text, name text, status text)`;

async function fillShop(shop: (text: string, values?: unknown[]) => Promise<unknown>): Promise<void> {
  await shop(shopTables);
  await shop(
    `insert into o (code, user_code, user_name, user_phone, user_email, user_grade_code, store_name, order_device)
     select code, $1, $1, $2, $3, $4, $4, device from (values ('REFUSED-1', 'pc'), ('REFUSED-2', 'mobile'), ('DEVICE', $3),
       ('BROKEN', $4), ('LINE-REFUSED', 'pc')) as orders (code, device)`,
    [name, phone, email, everything],
  );
  await shop(
    `insert into l (order_code, line_code, product_id, status, invoice, delivery_service, product_options)
     values ('REFUSED-1', '1', 7, $1, $1, $1, jsonb_build_object('engraving', $1::text)),
       ('LINE-ONLY', '1', null, $1, $1, $1, to_jsonb($1::text))`,
    [everything],
  );
  await shop(`insert into l (order_code, line_code, product_id) values ('LINE-REFUSED', '1', 8)`);
  await shop(
    `insert into o (code) values ('LINE-ONLY'); insert into o (code, user_name, user_email) values (null, '${name}', '${email}')`,
  );
  await shop(`insert into c values ('C1', $1, $1)`, [everything]);
}

/** Says back what it is sent, in every encoding, and shows reviews with the customer in fields that cannot hold it. */
const echoing = {
  answer(answer: { status: number; headers: Record<string, string>; body: unknown }, call: Echoed) {
    if (call.path.endsWith('/sub_orders') && call.method === 'POST') {
      // The request for a line names no customer: the client does not know what to mask.
      answer.status = 422;
      answer.body = { error: `${name} may not buy this` };
    }
    if (call.path === '/v1/orders' && call.method === 'POST' && call.form.get('code') !== 'LINE-REFUSED') {
      const sent = call.form.toString();
      const decoded = decodeURIComponent(sent.replaceAll('+', ' '));
      answer.status = call.form.get('code') === 'REFUSED-2' ? 400 : 422;
      const error = `${decoded} | ${sent} | ${decoded.toUpperCase()}`;
      answer.body = { error, email: [email], phone: '+82 10-1234-5678' };
    }
    if (call.path === '/v1/reviews' && Array.isArray(answer.body)) {
      const wrong = ['score', 'product_id', 'images_count', 'created_at', 'display', 'likes_count'];
      answer.body.forEach((review, n) => {
        Object.assign(review, { user_name: name, message: everything, user_email: email, user_phone: phone });
        const field = wrong[n];
        if (field !== undefined) review[field] = n % 2 === 0 ? everything : phone;
      });
    }
  },
};
type Echoed = { method: string; path: string; form: URLSearchParams };

test('no log, reason, alert, page, metric or finding shows a customer', async () => {
  // The reviews are odd, so that each run of them reads all days since this year began.
  const days = { ORDER_RESCAN_DAYS: '2', REVIEW_YEARS_FROM: String(new Date().getFullYear()) };
  await using world = await openWorld({ environment: { LOG_LEVEL: 'trace', ...days } });
  await world.seedReviews(hourlyReviews(8));
  await fillShop(world.shop);
  await using proxy = await startChangingProxy(world.serviceUrl, echoing);
  const alerts = await startReceiver();
  const statusToken = 'a-token-that-is-long-enough-0123';
  const secret = 'a-secret-of-webhooks-0123456789';
  const environment = {
    ...world.environment,
    SHOP_SQL_DIR: await orderShopQueries(shopQueries),
    REVIEW_API_BASE_URL: proxy.url,
    STATUS_TOKEN: statusToken,
    WEBHOOK_SECRET: secret,
    PORT: '0',
    ALERT_DEAD_LETTERS: '1',
    ALERT_WEBHOOK_URL: alerts.url,
  };
  const outputs: Record<string, string> = {};
  const run = async (...args: string[]) => {
    const { stdout, stderr } = await runCli(args, environment);
    outputs[args.join(' ')] = stdout + stderr;
  };
  await Promise.all([run('sync', 'catalog'), run('sync', 'orders'), run('sync', 'reviews')]);
  await Promise.all([run('sync', 'reconcile'), run('verify', 'reviews')]);

  const serving = startHere(['serve'], environment);
  const url = await addressOf(serving);
  const hooks = [
    [{ brand_id: 1, reviews: [{ id: email }, { id: phone }, { id: name, updated_at: everything }] }],
    [{ brand_id: everything, products: [{ id: 1, code: `${everything}\u0000`, reviews_count: phone }] }],
    [{ brand_id: 1, [everything]: 1 }],
    `not JSON: ${everything}`,
  ];
  for (const [index, body] of hooks.entries())
    outputs[`the response to webhook ${index}`] = await (await postWebhook(url, secret, body)).text();
  const authorization = `Bearer ${statusToken}`;
  for (const path of ['/', '/metrics']) {
    outputs[path] = await (await fetch(url + path, { headers: { authorization } })).text();
  }
  await until(async () => alerts.received.length > 0);
  serving.kill('SIGTERM');
  outputs.serve = (await serving.ended).stderr;
  outputs.alerts = JSON.stringify(alerts.received);
  await Promise.all([run('status'), run('status', '--json'), run('doctor'), run('dead-letters')]);
  await run('dead-letters', 'retry');

  const rows = async (what: string, statement: string) => {
    outputs[what] = JSON.stringify(await world.warehouse(statement));
  };
  await rows('sync.runs', 'select * from sync.runs');
  await rows('sync.alerts', 'select * from sync.alerts');
  await rows('reasons', 'select kind, reason from sync.dead_letters');
  await rows('sync.settings', 'select webhook_brands from sync.settings');
  await rows('the queue', 'select * from bullmq.job');

  expect(tracesIn(outputs)).toEqual([]);
  const kinds = valuesOf(await world.warehouse('select distinct kind from sync.dead_letters'));
  expect(kinds).toEqual(expect.arrayContaining(['category', 'order', 'review', 'webhook']));
  expect(outputs.reasons).toContain('may not buy this');
  expect(outputs['sync catalog']).toMatch(/user_grades\.sql: a row cannot be read.*22P02/);
});
