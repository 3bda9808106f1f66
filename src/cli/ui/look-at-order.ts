import { orderDeps } from '../../app/deps.ts';
import { otherSpelling, type Part } from '../../app/explain-view.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import type { OrderExplanation, OrderPreview } from '../../orders/compare/show-order.ts';
import type { PushRights } from '../../orders/contact-rule.ts';
import type { OrderDeps } from '../../orders/order-deps.ts';
import type { Context, Report } from '../command.ts';
import { orderCode } from './arguments.ts';
import { drawParts } from './table.ts';
import { withApp } from './with-app.ts';

type Seen = Pick<OrderPreview, 'code' | 'shop' | 'service' | 'lookupFault'> &
  Partial<Pick<OrderExplanation, 'link' | 'deadLetters'>>;

/** Nothing anywhere is known of the code: it is probably mistyped. */
const isUnknown = ({ shop, service, link, deadLetters = [] }: Seen) =>
  !shop && !service && !link && deadLetters.length === 0;

/** The work of a command that shows one order and changes nothing. */
export async function lookAtOrder<T extends Seen>(
  context: Context,
  code: string,
  look: (deps: OrderDeps, code: string, rights: PushRights) => Promise<T>,
  partsOf: (order: T) => Part[],
): Promise<Report> {
  const asked = orderCode(code);
  return withApp(context, {}, async (app) => {
    const order = await look(orderDeps(app, context.signal), asked, ownPushRights(app.config, 'show'));
    const text = otherSpelling(asked, order.code) + drawParts(partsOf(order));
    const incomplete = order.lookupFault !== undefined || isUnknown(order);
    return { text, json: order, incomplete };
  });
}
