import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { describeError } from '../base/errors.ts';
import { mask, privateTextsOf } from '../base/mask.ts';
import { withTimeout } from '../base/timeout.ts';
import { explainOrder, type OrderExplanation } from '../orders/compare/show-order.ts';
import { findInShop } from '../orders/order/read-orders.ts';
import type { ReviewApi } from '../review-api/index.ts';
import { explainReview, type ReviewExplanation } from '../reviews/explain-review.ts';
import type { Shop } from '../shop/index.ts';
import { deadLettersOfOrder } from '../warehouse/dead-letters.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { orderLines, orderLinks } from '../warehouse/orders/order-links.ts';
import type { Search } from './page/layout.ts';

export type ExplainerDeps = {
  api: Pick<ReviewApi, 'orders' | 'reviews'>;
  shop: Pick<Shop, 'orders'>;
  now: () => Date;
  contactMaxAgeDays: number;
  deletes: 'off' | 'send';
};

/** `shopFault`, `serviceFault`: why nothing is known of that side. Texts are masked. */
export type Explained =
  | { of: 'order'; order: Partial<OrderExplanation>; shopFault: string | undefined; serviceFault: string | undefined }
  | { of: 'review'; review: ReviewExplanation };

export type Answer =
  | { kind: 'explained'; explained: Explained }
  | { kind: 'invalid' }
  | { kind: 'busy'; seconds: number }
  | { kind: 'late' };

/** Searches in a minute, over all who have the token. */
const perMinute = 12;
/** How long a search is waited for. It keeps its turn until it has ended. */
const searchTimeoutMs = 10_000;
/** What a failing request may spend on further attempts: four or five of them. */
const shortCall = { giveUpAfterMs: 3000 };

/**
 * Opens the search of the status page. One search runs at a time, and a few in a minute: it reads the shop once, and
 * sends one or two requests to the service.
 */
export function openExplainer(deps: ExplainerDeps, warehouse: Warehouse) {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: 60 });
  let isBusy = false;
  return async (search: Search): Promise<Answer> => {
    if (!isValid(search)) return { kind: 'invalid' };
    if (isBusy) return { kind: 'busy', seconds: 5 };
    isBusy = true;
    try {
      await limiter.consume('all');
    } catch (refusal) {
      isBusy = false;
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      return { kind: 'busy', seconds: Math.ceil(refusal.msBeforeNext / 1000) };
    }
    const work = (search.of === 'order' ? orderFacts : reviewFacts)(deps, warehouse, search.key);
    const ended = work.finally(() => {
      isBusy = false;
    });
    const late = new Error('late');
    try {
      return { kind: 'explained', explained: await withTimeout(ended, searchTimeoutMs, () => late) };
    } catch (error) {
      if (error !== late) throw error;
      // Nobody waits for it any more.
      ended.catch(() => {});
      return { kind: 'late' };
    }
  };
}

/** A code that the databases can hold, of a length that a code has; an id of a review. */
export function isValid({ of, key }: Search): boolean {
  if (of === 'review') return /^[1-9]\d{0,14}$/.test(key);
  return key.length > 0 && key.length <= 200 && key.isWellFormed() && !/\p{Cc}/u.test(key);
}

/** As `explain order`, except that a side which does not respond leaves out only what it would have said. */
async function orderFacts(deps: ExplainerDeps, warehouse: Warehouse, asked: string): Promise<Explained> {
  const { db } = warehouse;
  const shop = await valueOrFault(() => deps.shop.orders([asked]));
  const rows = 'value' in shop ? shop.value : [];
  const { giveUpAfterMs } = shortCall;
  const patience = { giveUpAfterMs, afterFailureMs: giveUpAfterMs, settleMs: 0 };
  const signal = AbortSignal.timeout(searchTimeoutMs);
  const look = { ...deps, db, shop: { orders: async () => rows }, patience, signal };
  const explained = await valueOrFault(() => explainOrder(look, asked));
  const hide = (text: string | undefined) => text && mask(text, privateTextsOf(rows));
  const shopFault = 'fault' in shop ? hide(shop.fault) : undefined;
  if ('value' in explained) {
    const { value: order } = explained;
    return { of: 'order', order, shopFault, serviceFault: hide(order.lookupFault) };
  }
  const { code, raw } = await findInShop(look, asked);
  const [link, lines] = [(await orderLinks(db, [code])).get(code), (await orderLines(db, [code])).get(code) ?? []];
  const deadLetters = await deadLettersOfOrder(db, code);
  const order = { code, shop: raw, link, lines, deadLetters };
  return { of: 'order', order, shopFault, serviceFault: hide(explained.fault) };
}

async function reviewFacts({ api }: ExplainerDeps, warehouse: Warehouse, key: string): Promise<Explained> {
  return { of: 'review', review: await explainReview({ reviews: api.reviews, warehouse }, Number(key), shortCall) };
}

async function valueOrFault<T>(work: () => Promise<T>): Promise<{ value: T } | { fault: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { fault: describeError(error) };
  }
}
