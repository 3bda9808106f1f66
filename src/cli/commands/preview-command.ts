import { previewParts } from '../../app/preview-view.ts';
import { previewOrder } from '../../orders/compare/show-order.ts';
import type { Command } from '../command.ts';
import { lookAtOrder } from '../ui/look-at-order.ts';

export const command: Command = {
  define(commander, run) {
    commander
      .command('order <code>')
      .description('the shop’s rows, the requests that they make, and the difference to the service now; sends nothing')
      .addHelpText('after', '\nShows the customer’s name, e-mail address and phone number, which explain does not.')
      .action((code: string) => run((context) => lookAtOrder(context, code, previewOrder, previewParts), 'one'));
  },
};
