import { orderDeps } from '../../app/deps.ts';
import {
  isUnknownOrder,
  isUnknownReview,
  orderParts,
  otherSpelling,
  type Part,
  reviewParts,
} from '../../app/explain-view.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import { UsageError } from '../../base/errors.ts';
import { explainOrder } from '../../orders/compare/show-order.ts';
import { explainReview } from '../../reviews/refresh/explain-review.ts';
import type { Command } from '../command.ts';
import { orderCode } from '../ui/order-code.ts';
import { table } from '../ui/table.ts';
import { withApp } from '../ui/with-app.ts';

export const command: Command = {
  define(commander, run) {
    commander
      .command('order <code>')
      .description('what the shop holds, what was pushed, what the service holds, and what differs now')
      .action((code: string) =>
        run(async (context) => {
          const asked = orderCode(code);
          return await withApp(context, undefined, async (app) => {
            const order = await explainOrder(orderDeps(app, context.signal), asked, ownPushRights(app.config, 'show'));
            const text = otherSpelling(asked, order.code) + draw(orderParts(order));
            const incomplete =
              order.shopFault !== undefined || order.lookupFault !== undefined || isUnknownOrder(order);
            return { text, json: order, incomplete };
          });
        }, 'one'),
      );
    commander
      .command('review <id>')
      .description('what the service answers, what the warehouse holds, which windows held it, and what differs now')
      .action((text: string) =>
        run(async (context) => {
          const id = reviewId(text);
          return await withApp(context, undefined, async ({ api, warehouse }) => {
            const review = await explainReview({ reviews: api.reviews, warehouse }, id);
            const incomplete = review.serviceFault !== undefined || isUnknownReview(review);
            return { text: draw(reviewParts(review)), json: review, incomplete };
          });
        }, 'one'),
      );
  },
};

function reviewId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`${JSON.stringify(text)} is no id of a review, expected a number such as 4711`);
}

const draw = (parts: readonly Part[]): string =>
  parts
    .map(({ title, lines, tables }) =>
      [title, ...lines, ...tables.flatMap((one) => [`${one.title}:`, table(one.head, one.rows)])].join('\n'),
    )
    .join('\n\n');
