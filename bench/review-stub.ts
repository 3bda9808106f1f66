/**
 * The fastest review service there can be: reviews made up from their number, one every `stepSeconds` (whole seconds)
 * from a date on, in UTC, listed as the spec says. Run as a child with an IPC channel: a message sets what it holds.
 */
import { createServer } from 'node:http';
import { reviewOf } from './review-of.ts';

export type StubReviews = {
  count: number;
  stepSeconds: number;
  latencyMs: number;
  /** Date of the first review; default: 2020-01-01. */
  from?: string;
  /**
   * How many products, how codes of products and orders begin, and the number of the first order; default: 500, P,
   * O, 0.
   */
  codes?: { products: number; product: string; order: string; firstOrder: number };
};

/** Length of a bucket of `StubReport.inFlight`, in milliseconds. */
export const bucketMs = 250;

/** The counts since the message before. `inFlight`: requests in flight, on average, in each 250 ms since the first. */
export type StubReport = { requests: number; inFlight: number[] };

const defaultCodes = { products: 500, product: 'P', order: 'O', firstOrder: 0 };
let first = 0;
const pagesAtMost = 30;
let held: StubReviews = { count: 0, stepSeconds: 1, latencyMs: 0 };
let requests = 0;
/** Since the first request: its moment, and the requests in flight, summed over the milliseconds of each bucket. */
let [startedMs, changedMs, inFlight] = [0, 0, 0];
let buckets: number[] = [];

/** A request begins (1) or has been answered (-1). */
function change(by: 1 | -1): void {
  // Whole milliseconds, so that a bucket ends exactly where the next begins.
  const now = Math.round(performance.now());
  if (requests === 0 && inFlight === 0) startedMs = changedMs = now;
  while (changedMs < now) {
    const bucket = Math.floor((changedMs - startedMs) / bucketMs);
    const until = Math.min(now, startedMs + (bucket + 1) * bucketMs);
    buckets[bucket] = (buckets[bucket] ?? 0) + inFlight * (until - changedMs);
    changedMs = until;
  }
  inFlight += by;
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://stub');
  response.setHeader('content-type', 'application/json');
  const end = (text: string) => {
    if (held.latencyMs === 0) response.end(text);
    else setTimeout(() => response.end(text), held.latencyMs);
  };
  if (url.pathname === '/oauth/token') return void response.end('{"access_token":"bench"}');
  change(1);
  requests += 1;
  response.on('close', () => change(-1));
  if (url.pathname === '/v1/reviews/overview') {
    return end(
      JSON.stringify({
        first_review_created_at: dateOf(0),
        last_review_created_at: dateOf(Math.max(0, held.count - 1)),
      }),
    );
  }
  const asked = (name: string) => Number(url.searchParams.get(name));
  const second = (name: string) => Date.parse(`${url.searchParams.get(name)?.replace(' ', 'T')}Z`) / 1000;
  const from = Math.max(0, Math.ceil((second('start_datetime') - first) / held.stepSeconds));
  const to = Math.min(held.count - 1, Math.floor((second('end_datetime') - first) / held.stepSeconds));
  const [limit, page] = [asked('limit'), asked('page')];
  const total = Math.max(0, to - from + 1);
  const last = Math.max(1, Math.ceil(total / limit));
  if (page > pagesAtMost) return void response.writeHead(422).end('{"error":"page is at most 30"}');
  response.setHeader('link', `<http://stub/v1/reviews?page=${last}>; rel="last"`);
  const begin = (page - 1) * limit;
  const isNewestFirst = url.searchParams.get('date_order_desc') === '1';
  let text = '[';
  for (let n = begin; n < Math.min(begin + limit, total); n += 1) {
    text += (n > begin ? ',' : '') + shownReview(isNewestFirst ? to - n : from + n);
  }
  return end(`${text}]`);
});

const dateOf = (n: number) => new Date((first + n * held.stepSeconds) * 1000 + (n % 1000)).toISOString();

function shownReview(n: number): string {
  const { products, product, order, firstOrder } = held.codes ?? defaultCodes;
  const id = n % products;
  return reviewOf(n, n + 1, dateOf(n), { id, code: `${product}${id}` }, `${order}${firstOrder + n}`);
}

/** Sets what the stub holds, and responds with what came since the last message. */
process.on('message', (message: StubReviews) => {
  held = message;
  first = Date.parse(message.from ?? '2020-01-01T00:00:00Z') / 1000;
  process.send?.({ requests, inFlight: buckets.map((sum) => sum / bucketMs) } satisfies StubReport);
  requests = 0;
  buckets = [];
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
