import { type ShownOrder, withoutCustomer } from '../../orders/compare/show-order.ts';
import { explainReview } from '../../reviews/refresh/explain-review.ts';
import { numberOf } from '../arguments.ts';
import type { Context, Define, Report } from '../command.ts';
import { lookAtOrder } from '../look-at-order.ts';
import { orderText, reviewText } from '../ui/record-text.ts';
import { withSystems } from '../with-app.ts';

export const define: Define = (commander, run) => {
  commander
    .command('order <code>')
    .description('what the shop holds, what was pushed, what the service holds, and what differs now')
    .action((code: string) => run((context) => lookAtOrder(context, code, draw), 'one'));
  commander
    .command('review <id>')
    .description('what the service answers, what the warehouse holds, which windows held it, and what differs now')
    .action((id: string) => run((context) => lookAtReview(context, id), 'one'));
};

function draw(found: ShownOrder): Report {
  const order = withoutCustomer(found);
  return { text: orderText(order), json: order };
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
