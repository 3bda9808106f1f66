import { percent, shareOfLines } from '../../app/doctor/check-shop.ts';
import { utc } from '../../app/status-view.ts';
import type { ShownOrder, WireRequest } from '../../orders/compare/show-order.ts';
import { contactFields } from '../../orders/contact-rule.ts';
import { type ReviewExplanation, reviewVerdict } from '../../reviews/refresh/explain-review.ts';
import { comparisonLines, isEmpty, valueText } from './difference-text.ts';
import { blocks, lines, type Texts, table } from './table.ts';

const tableOf = (title: string, head: readonly string[], rows: readonly string[][]): string =>
  rows.length === 0 ? '' : `${title}:\n${table(head, rows)}`;

type Fields = Readonly<Record<string, unknown>>;

/** Fields that have a value, one below the other. */
function recordTable(title: string, record: Fields): string {
  const fields = Object.entries(record).filter(([, value]) => !isEmpty(value));
  const rows = fields.map(([name, value]) => [name, valueText(value)]);
  return tableOf(title, ['field', 'value'], rows);
}

/** Records one below the other, with the columns that have a value in any record. */
function recordsTable(title: string, records: readonly Fields[]): string {
  const names = [...new Set(records.flatMap((one) => Object.keys(one)))];
  const head = names.filter((name) => records.some((one) => !isEmpty(one[name])));
  const rows = records.map((one) => head.map((name) => (isEmpty(one[name]) ? '' : valueText(one[name]))));
  return tableOf(title, head, rows);
}

type Known = Omit<ShownOrder, 'requests'>;

/** The requests of a push of one order, and why: the text of `preview`. */
export const previewText = (order: ShownOrder): string =>
  blocks(shopPart(order), requestsPart(order), orderAtService(order), differencePart(order), 'Nothing was sent.');

/** The life of one order: the text of `explain`. */
export const orderText = (order: Known): string =>
  blocks(shopPart(order), pushedPart(order), orderAtService(order), deadLetterPart(order), differencePart(order));

function shopPart({ code, shop, fault }: Known): string {
  if (!shop) return lines('The shop', `The shop has no order ${code}.`);
  const share = shareOfLines(shop);
  const rows = shop.lines.map(({ order_code: _, ...line }) => line);
  return lines(
    'The shop',
    share !== undefined && `The lines add up to ${percent(share)} of total_price.`,
    fault && `It cannot be sent, and would be a dead letter: ${fault}`,
    recordTable('The order', shop.order),
    recordsTable('Lines', rows),
  );
}

const reasons: Readonly<Record<NonNullable<ShownOrder['nothingToSend']>, string | undefined>> = {
  unchanged: 'The next run sends nothing: the order has not changed since it was pushed. A push would send:',
  'deleted in the shop':
    'The next run sends nothing: the shop marks the order as deleted, ' +
    'and ORDER_DELETES is off or the service does not have it.',
  'cannot be read': undefined,
  'not in the shop': undefined,
};

function requestsPart(order: ShownOrder): string {
  const { requests, nothingToSend, withheld, looksFirstFor, difference } = order;
  const linesNotSent = (requests.length > 0 && difference?.linesNotSent) || [];
  const title = nothingToSend === undefined ? 'The next run that reads this order sends:' : reasons[nothingToSend];
  if (title === undefined) return '';
  const because =
    'The order is or was too old (ORDER_CONTACT_MAX_AGE_DAYS), its created_at lies in the future, a backfill left it out ' +
    'before, or forget masked the order.';
  return lines(
    title,
    ...requests.map(requestText),
    looksFirstFor !== undefined &&
      `The service may have one order for this code and for ${JSON.stringify(looksFirstFor)}. Customer and lines are sent ` +
        'once it has shown two.',
    ...linesNotSent.map(({ lineCode, reason }) => `Line ${lineCode} is not sent: ${reason}.`),
    withheld.length > 0 && `Left out by the contact rule: ${withheld.join(' and ')}. ${because}`,
  );
}

const requestText = ({ method, path, body }: WireRequest): string =>
  body === undefined ? `${method} ${path}` : `${method} ${path}\n${JSON.stringify(body, null, 2)}`;

function pushedPart({ link, lines: pushed }: Known): string {
  if (!link) return lines('Pushed', 'No push of it is remembered.');
  const contact = contactFields.some((field) => link.sentFields.includes(field)) ? 'with' : 'without';
  const at = link.pushedAt ? utc(link.pushedAt) : undefined;
  const rows = pushed.map((line) => [
    line.lineCode,
    line.subOrderId === null ? 'being added' : String(line.subOrderId),
    valueText(line.content),
  ]);
  return lines(
    'Pushed',
    at !== undefined && link.orderId === null
      ? `Never accepted by the service, last tried at ${at}.`
      : `${at ? `Last recorded at ${at}` : 'Never recorded'}, ${contact} e-mail and phone.`,
    `Due again: ${link.dueAt ? utc(link.dueAt) : 'no'}. Failed in a row: ${link.failedPushes}.`,
    tableOf('Lines', ['line', 'sub-order', 'as last sent'], rows),
  );
}

function orderAtService({ service, lookupFault }: Known): string {
  const { sub_orders: subOrders = [], ...fields } = service ?? {};
  const shown = subOrders.map(({ id, product_id, price, status, reviews_count, updated_at }) => {
    return { id, product_id, cents: price?.cents, status, reviews_count, updated_at };
  });
  const tables = [recordTable('The order', fields), recordsTable('Sub-orders', shown)];
  return servicePart('order', service, lookupFault, ...tables);
}

function servicePart(what: string, found: unknown, fault: string | undefined, ...tables: Texts): string {
  const none = fault
    ? `The service could not be asked about the ${what}: ${fault}`
    : `The service has no such ${what}.`;
  return lines('The service', !found && none, ...tables);
}

function deadLetterPart({ deadLetters }: Pick<Known, 'deadLetters'>): string {
  const rows = deadLetters.map(({ id, kind, resolvedAt, isDiscarded, lastFailedAt, reason }) => [
    String(id),
    kind,
    resolvedAt ? `${isDiscarded ? 'discarded' : 'closed'} ${utc(resolvedAt)}` : 'open',
    utc(lastFailedAt),
    reason,
  ]);
  const head = ['id', 'kind', 'state', 'last failed', 'reason'];
  return lines('Dead letters', rows.length > 0 ? table(head, rows) : 'No dead letters.');
}

function differencePart({ service, difference }: Known): string {
  const nothing =
    'Nothing was compared: one end lacks the order, shows another, could not be asked, or cannot be read.';
  return lines('Difference', ...(service && difference ? comparisonLines(difference) : [nothing]));
}

/** The life of one review: the text of `explain`. */
export function reviewText(review: ReviewExplanation): string {
  const { service, serviceFault, warehouse, windows, missed } = review;
  const rows = windows.map((one) => [one.axis, utc(one.startAt), utc(one.endAt), utc(one.startedAt), one.runId]);
  return blocks(
    servicePart('review', service, serviceFault, recordTable('The review', service ?? {})),
    lines('The warehouse', warehouse ? recordTable('The review', warehouse) : 'The warehouse has no such review.'),
    lines(
      'Windows that held its dates',
      missed && `Suspected gone: missed at ${utc(missed.at)} by ${missed.runId}.`,
      rows.length > 0 ? table(['axis', 'from', 'to', 'read at', 'run'], rows) : 'No recorded window holds its dates.',
    ),
    deadLetterPart(review),
    lines('Difference', reviewVerdict(review)),
  );
}
