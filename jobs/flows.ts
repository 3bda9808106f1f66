import { type Conclusion, counted } from '../src/base/counts.ts';
import type { RunAtEnd } from '../src/runs/define-run.ts';
import { spanTotals } from '../src/warehouse/reviews/coverage.ts';
import type { Run } from '../src/warehouse/runs/runs.ts';
import { pushOrdersStep } from './push-orders.ts';
import { readWindowStep } from './read-window.ts';

/**
 * Counts what the steps cannot count: several steps of a run may read a review, and a retried step counts only its last
 * try.
 */
async function sumUpReviews({ app, run, open }: RunAtEnd): Promise<Conclusion> {
  return { counts: { ...(await spanTotals(app.warehouse.db, run.id)), refused: open.ofRun } };
}

/** Reports removals held back, orders the service had lost, and orders whose contact `--with-email` did not send. */
async function sumUpOrders({ run, counts, open: { removalsHeld: held } }: RunAtEnd): Promise<Conclusion> {
  const { orders_recreated: recreated = 0, orders_without_contact: withheld = 0 } = counts;
  const problems = [
    held > 0 &&
      `${counted(held, 'removal')} of orders and lines held back. ` +
        `If they are right, run: ${commandOf(run)} --allow-removals`,
    recreated > 0 &&
      `The service had lost ${counted(recreated, 'order')} pushed before, ` +
        'as after the restoration of a backup; made again. To find others: review-sync verify orders --repair',
    withheld > 0 &&
      `${counted(withheld, 'order')} went without contact, because ORDER_CONTACT_MAX_AGE_DAYS is 0 in a process that ` +
        'carried out a part of the run. To send it: set it there, or stop that process, and run the command again',
  ].filter((one) => one !== false);
  return { counts: held > 0 ? { removals_held: held } : {}, problem: problems.join('. ') };
}

/** A backfill names itself: `sync orders` before the first sync pushes the whole shop, with contact of young orders. */
const commandOf = ({ job, rights: { from, to } }: Run): string =>
  job === 'backfill-orders'
    ? ['review-sync backfill orders', from && `--from ${from}`, to && `--to ${to}`].filter(Boolean).join(' ')
    : 'review-sync sync orders';

/** Common parts of every run of orders: a regular run, a rescan and a backfill end by the same rules. */
export const runOfOrders = {
  readsShop: true,
  step: pushOrdersStep,
  deadLetters: ['order', 'order_line'],
  sumUp: sumUpOrders,
} as const;

/** Common parts of every run of reviews. */
export const runOfReviews = {
  readsShop: false,
  step: readWindowStep,
  deadLetters: ['review'],
  sumUp: sumUpReviews,
} as const;
