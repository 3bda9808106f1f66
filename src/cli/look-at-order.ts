import { orderDeps } from '../app/deps.ts';
import { ownPushRights } from '../app/run-rights.ts';
import { type ShownOrder, showOrder } from '../orders/compare/show-order.ts';
import { orderCode } from './arguments.ts';
import type { Context, Report } from './command.ts';
import { withSystems } from './with-app.ts';

/** The work of a command that shows one order and changes nothing. */
export async function lookAtOrder(
  context: Context,
  text: string,
  draw: (order: ShownOrder) => Report,
): Promise<Report> {
  const asked = orderCode(text);
  return withSystems(context, {}, async (app) => {
    const order = await showOrder(orderDeps(app, context.signal), asked, ownPushRights(app.config, 'show'));
    const { code, shop, service, lookupFault, link, deadLetters } = order;
    const report = draw(order);
    const otherSpelling = code === asked ? '' : `The shop’s code of ${asked} is ${code}.\n\n`;
    // If nothing anywhere is known of the code, it is probably mistyped.
    const isUnknown = !shop && !service && !link && deadLetters.length === 0;
    return { ...report, text: otherSpelling + report.text, incomplete: lookupFault !== undefined || isUnknown };
  });
}
