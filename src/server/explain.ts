import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { App } from '../app/app.ts';
import { orderDeps } from '../app/deps.ts';
import {
  discreetly,
  isUnknownOrder,
  isUnknownReview,
  orderParts,
  type Part,
  reviewParts,
  type Show,
} from '../app/explain-view.ts';
import { describeError } from '../base/errors.ts';
import { mask, privateTextsOf } from '../base/mask.ts';
import { withTimeout } from '../base/timeout.ts';
import { explainOrder } from '../orders/compare/show-order.ts';
import { explainReview } from '../reviews/explain-review.ts';
import type { Warehouse } from '../warehouse/index.ts';
import type { Search } from './page/layout.ts';

export type Answer =
  /** No part: nothing is known of the key. */
  | { kind: 'explained'; parts: Part[] }
  | { kind: 'invalid' }
  | { kind: 'busy'; seconds: number }
  | { kind: 'failed'; reason: string };

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
export function openExplainer(app: App, warehouse: Warehouse) {
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
    const work =
      search.of === 'order' ? orderFacts(app, warehouse, search.key) : reviewFacts(app, warehouse, search.key);
    const ended = work.finally(() => {
      isBusy = false;
    });
    const tooLate = () => new Error('Shop or service did not respond in time. npx review-sync explain waits longer.');
    try {
      return { kind: 'explained', parts: await withTimeout(ended, searchTimeoutMs, tooLate) };
    } catch (error) {
      // Nobody waits any more for a search that is too late.
      ended.catch(() => {});
      return { kind: 'failed', reason: describeError(error) };
    }
  };
}

/** A code that the databases can hold, of a length that a code has; an id of a review. */
export function isValid({ of, key }: Search): boolean {
  if (of === 'review') return /^[1-9]\d{0,14}$/.test(key);
  return key.length > 0 && key.length <= 200 && key.isWellFormed() && !/\p{Cc}/u.test(key);
}

/** As `explain order`; a shop that does not respond leaves out only what it would have said. */
async function orderFacts(app: App, warehouse: Warehouse, asked: string): Promise<Part[]> {
  let shopFault: string | undefined;
  const rows = await app.shop.orders([asked]).catch((error: unknown) => {
    shopFault = describeError(error);
    return [];
  });
  const { giveUpAfterMs } = shortCall;
  const patience = { giveUpAfterMs, settleMs: 0 };
  const deps = orderDeps(app, AbortSignal.timeout(searchTimeoutMs));
  const look = { ...deps, db: warehouse.db, shop: { orders: async () => rows }, patience };
  const order = await explainOrder(look, asked);
  const secrets = privateTextsOf(rows);
  const show: Show = { ...discreetly, text: (text) => mask(text, secrets) };
  return isUnknownOrder(order) && shopFault === undefined ? [] : orderParts(order, show, shopFault);
}

async function reviewFacts({ api }: App, warehouse: Warehouse, key: string): Promise<Part[]> {
  const review = await explainReview({ reviews: api.reviews, warehouse }, Number(key), shortCall);
  return isUnknownReview(review) ? [] : reviewParts(review, discreetly);
}
