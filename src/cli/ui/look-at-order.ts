import { orderDeps } from '../../app/deps.ts';
import { otherSpelling, type Part } from '../../app/explain-view.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import type { PushRights } from '../../orders/contact-rule.ts';
import type { OrderDeps } from '../../orders/order-deps.ts';
import type { Work } from '../command.ts';
import { orderCode } from './arguments.ts';
import { drawParts } from './table.ts';
import { withApp } from './with-app.ts';

type Seen = { code: string; lookupFault?: string | undefined };

/**
 * A command that shows one order and changes nothing.
 *
 * @param isUnknown whether neither shop nor service has it: the code is probably mistyped.
 */
export const lookAtOrder =
  <T extends Seen>(
    code: string,
    look: (deps: OrderDeps, code: string, rights: PushRights) => Promise<T>,
    partsOf: (order: T) => Part[],
    isUnknown: (order: T) => boolean,
  ): Work =>
  async (context) => {
    const asked = orderCode(code);
    return withApp(context, undefined, async (app) => {
      const order = await look(orderDeps(app, context.signal), asked, ownPushRights(app.config, 'show'));
      const text = otherSpelling(asked, order.code) + drawParts(partsOf(order));
      const incomplete = order.lookupFault !== undefined || isUnknown(order);
      return { text, json: order, incomplete };
    });
  };
