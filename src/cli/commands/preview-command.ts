import type { Define } from '../command.ts';
import { previewText } from '../ui/record-text.ts';
import { lookAtOrder } from './explain-command.ts';

export const define: Define = (commander, run) => {
  commander
    .command('order <code>')
    .description('the shop’s rows, the requests that they make, and the difference to the service now; sends nothing')
    .addHelpText('after', '\nShows the customer’s name, e-mail address and phone number, which explain does not.')
    .action((code: string) => run((context) => lookAtOrder(context, code, (order) => order, previewText), 'one'));
};
