import type { Issue } from './issues.ts';
import type { StatusReport } from './status-report.ts';
import { formatCount, waitingText } from './status-view.ts';

/** Pushed orders that the shop no longer shows. */
export function ordersGone({ absentOrders: { orders, examples }, orderDeletes }: StatusReport): Issue[] {
  if (orders === 0) return [];
  const codes = orders > examples.length ? `${examples.join(', ')} …` : examples.join(', ');
  const which = orders === 1 ? `1 pushed order (${codes}) is` : `${formatCount(orders)} pushed orders (${codes}) are`;
  const hint =
    orderDeletes === 'off'
      ? 'they stay at the service; delete them there by hand, or set ORDER_DELETES=send to have rescans delete them'
      : 'a rescan deletes them at the service a day after they were first missed; those with reviews stay';
  return [{ key: 'absent orders', what: `${which} no longer in the shop`, hint, isUrgent: false }];
}

/** The daily check for rows without code or date did not see all of them. */
export function keylessUnknown({ newest }: StatusReport): Issue[] {
  const rescan = newest.find(({ job }) => job === 'rescan-orders');
  if (!rescan?.counts.keyless_checks_cut) return [];
  return [
    {
      key: 'keyless orders unknown',
      what:
        'it is unknown whether orders.sql has rows without code or date: ' +
        'the daily check was cut after 30 s, or found more than 1,000',
      hint: 'look for them in the shop: select * from (orders.sql) o where code is null or created_at is null',
      isUrgent: false,
    },
  ];
}

/** A waiting line is no failure: until ALERT_WAITING_DAYS it is a note of the status, see statusNotes. */
export function waitingForProducts(report: StatusReport): Issue[] {
  const what = waitingText(report);
  const sinceMs = report.waiting.oldest?.since.getTime() ?? Number.NaN;
  if (what === undefined || report.at.getTime() - sinceMs < report.alertWaitingDays * 86_400_000) return [];
  const hint =
    'a line is sent as soon as a review or an order list names its product id; ' +
    'or give product_id in order_lines.sql';
  return [{ key: 'waiting lines', what, hint, isUrgent: true }];
}

/** Orders that wait for a member grade are no failure: they are sent again once the grade is at the service. */
export function ordersWaitingForGrade({ waitingForGrades: { orders, isCut, grades } }: StatusReport): Issue[] {
  if (orders === 0) return [];
  const missing = grades === 1 ? 'one grade' : `${formatCount(grades)} grades`;
  const which = orders === 1 ? '1 order has' : `${isCut ? 'more than ' : ''}${formatCount(orders)} orders have`;
  return [
    {
      key: 'waiting for grades',
      what:
        `${which} a member grade that is not at the service yet (${missing}); ` +
        'each keeps the grade that was sent before, if any',
      hint:
        'npx review-sync sync catalog makes the grades of user_grades.sql, and the next run of orders sends them; ' +
        'npx review-sync doctor names grades that user_grades.sql does not have',
      isUrgent: false,
    },
  ];
}
