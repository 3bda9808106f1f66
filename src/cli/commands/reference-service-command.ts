import { once } from 'node:events';
import { resolve } from 'node:path';
import { number, readShopConfig, timeZone, wholeNumber } from '../../app/config.ts';
import { counted } from '../../base/counts.ts';
import { describeError, UsageError } from '../../base/errors.ts';
import { ordersByCreation } from '../../orders/select/orders-by-day.ts';
import { startEmbeddedDatabase } from '../../sandbox/embedded-postgres/index.ts';
import { keptSecret, randomSecret } from '../../sandbox/embedded-postgres/password.ts';
import { startReferenceService } from '../../sandbox/reference-service/index.ts';
import { seedReviewOfEach } from '../../sandbox/reference-service/seed.ts';
import { openShop } from '../../shop/index.ts';
import { optionOf } from '../arguments.ts';
import type { Context, Define, Traits } from '../command.ts';

type Options = {
  port: number;
  databaseUrl?: string;
  clientId: string;
  clientSecret?: string;
  timeZone: string;
  latency: number;
  failRate: number;
  rateLimit?: number;
  tokenTtl?: number;
  productsFromShop?: true;
};

export const traits: Traits = { hasServers: true };

export const define: Define = (commander, run) => {
  commander
    .option('--port <port>', 'port on 127.0.0.1', optionOf(wholeNumber(0, 65_535)), 4010)
    .option('--database-url <url>', 'its Postgres database (default: an embedded one kept under .review-sync/)')
    .option('--products-from-shop', 'begin with a made-up review of each product that the shop queries show')
    .option('--client-id <id>', 'accepted client id', 'demo')
    .option('--client-secret <secret>', 'accepted client secret (default: a random one, kept beside its data)')
    .option('--time-zone <zone>', 'IANA zone in which dates without offset are read', optionOf(timeZone), 'Asia/Seoul')
    .option('--latency <ms>', 'wait before each response', optionOf(number(0, 600_000)), 0)
    .option('--fail-rate <0..1>', 'share of requests that fail or lose their response', optionOf(number(0, 1)), 0)
    .option('--rate-limit <n>', 'requests per second before 429', optionOf(number(0.01, 1_000_000)))
    .option('--token-ttl <seconds>', 'how long a token is valid', optionOf(number(1, 31_536_000)))
    .action((options: Options) => run((context) => serve(context, options)));
};

async function serve(context: Context, options: Options): Promise<undefined> {
  await using opened = new AsyncDisposableStack();
  const codes = options.productsFromShop ? await productsOfShop(context) : [];
  const own = options.databaseUrl === undefined ? await embedded(options, opened) : undefined;
  // The secret must not be guessable: the trial has the shop's customers, and every user of this machine can reach it.
  const secret = () => (own ? keptSecret(own.directory, 'client-secret') : randomSecret());
  const clientSecret = options.clientSecret ?? (await secret());
  const databaseUrl = options.databaseUrl ?? own?.service ?? '';
  await seedReviewOfEach(databaseUrl, codes, new Date());
  const { latency: latencyMs, rateLimit: rateLimitPerSecond, tokenTtl: tokenTtlSeconds } = options;
  const settings = { ...options, latencyMs, rateLimitPerSecond, tokenTtlSeconds };
  const service = await startReferenceService({ ...settings, databaseUrl, clientSecret });
  opened.defer(() => service.close());
  const { say } = context.terminal;
  if (options.productsFromShop) say(`It knows ${counted(codes.length, 'product')} of the shop.`);
  if (own) {
    say('For a trial, put these lines into .env:');
    say(`  WAREHOUSE_DATABASE_URL=${own.warehouse}\n  REVIEW_API_BASE_URL=${service.url}`);
    say(`  REVIEW_API_CLIENT_ID=${options.clientId}\n  REVIEW_API_CLIENT_SECRET=${clientSecret}`);
    say(`  REVIEW_API_TIME_ZONE=${options.timeZone}`);
  } else if (options.clientSecret === undefined) say(`Its client secret is ${clientSecret}`);
  say(`The reference service listens on ${service.url}. Ctrl-C ends it.`);
  if (!context.signal.aborted) await once(context.signal, 'abort');
}

/** Starts Postgres with a warehouse and the service's own database, so that a trial needs no other Postgres. */
async function embedded({ port }: Options, opened: AsyncDisposableStack) {
  const keepIn = resolve('.review-sync', 'postgres');
  const database = await startEmbeddedDatabase({ keepIn, ...(port > 0 && { port: port + 1 }) }).catch((error) => {
    throw new UsageError(describeError(error), {
      hint: 'Run it in a folder that you may write to, or give it a Postgres: --database-url.',
    });
  });
  opened.defer(() => database.close());
  const [service, warehouse] = ['reference_service', 'warehouse'].map((name) => database.createDatabase(name));
  return { service: await service, warehouse: await warehouse, directory: database.directory };
}

/** The codes of the products in all order lines. @throws UsageError for a query that breaks the contract. */
async function productsOfShop({ environment, signal }: Context): Promise<string[]> {
  await using shop = openShop({ ...readShopConfig(environment), connections: 1, signal });
  const codes = new Set<string>();
  for await (const orders of ordersByCreation(shop, { start: undefined, end: undefined }))
    for (const line of orders.flatMap(({ lines }) => lines)) if (line.product_code) codes.add(line.product_code);
  return [...codes];
}
