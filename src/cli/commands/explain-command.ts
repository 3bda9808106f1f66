import { orderDeps } from '../../app/deps.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import { type ShownOrder, showOrder, withoutCustomer } from '../../orders/compare/show-order.ts';
import { explainReview } from '../../reviews/refresh/explain-review.ts';
import { numberOf, orderCode } from '../arguments.ts';
import type { Context, Define, Report } from '../command.ts';
import { orderText, reviewText } from '../ui/record-text.ts';
import { withSystems } from '../with-app.ts';

export const define: Define = (commander, run) => {
  commander
    .command('order <code>')
    .description('what the shop holds, what was pushed, what the service holds, and what differs now')
    .action((code: string) => run((context) => lookAtOrder(context, code, withoutCustomer, orderText), 'one'));
  commander
    .command('review <id>')
    .description('what the service answers, what the warehouse holds, which windows held it, and what differs now')
    .action((id: string) => run((context) => lookAtReview(context, id), 'one'));
};

/** The work of `explain order` and `preview order`: they show one order and change nothing. */
export async function lookAtOrder<T>(
  context: Context,
  text: string,
  shownOf: (order: ShownOrder) => T,
  draw: (shown: T) => string,
): Promise<Report> {
  const asked = orderCode(text);
  return withSystems(context, {}, async (app) => {
    const order = await showOrder(orderDeps(app, context.signal), asked, ownPushRights(app.config, 'show'));
    const { code, shop, service, lookupFault, link, deadLetters } = order;
    const json = shownOf(order);
    const otherSpelling = code === asked ? '' : `The shop’s code of ${asked} is ${code}.\n\n`;
    // If no system knows the code, it is probably mistyped.
    const isUnknown = !shop && !service && !link && deadLetters.length === 0;
    return { text: otherSpelling + draw(json), json, incomplete: lookupFault !== undefined || isUnknown };
  });
}

async function lookAtReview(context: Context, text: string): Promise<Report> {
  const id = numberOf(text, 'a review');
  return withSystems(context, {}, async ({ api, warehouse }) => {
    const review = await explainReview({ reviews: api.reviews, warehouse }, id);
    const isUnknown = !review.service && !review.warehouse && review.deadLetters.length === 0;
    const incomplete = review.serviceFault !== undefined || isUnknown;
    return { text: reviewText(review), json: review, incomplete };
  });
}
