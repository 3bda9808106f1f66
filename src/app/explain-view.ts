import type { OrderExplanation } from '../orders/compare/show-order.ts';
import { contactFields } from '../orders/contact-rule.ts';
import type { OrderDetail } from '../review-api/index.ts';
import { type ReviewExplanation, reviewVerdict } from '../reviews/refresh/explain-review.ts';
import { comparisonLines, isEmpty, valueText } from './difference-text.ts';
import { type StatusTable, utc } from './status-view.ts';

/** A part of what is known of a record: sentences, then tables. As `explain` and `preview` draw it. */
export type Part = { title: string; lines: string[]; tables: StatusTable[] };

/** Lines and tables that are absent are left out. */
export const part = (
  title: string,
  lines: readonly (string | undefined | false)[] = [],
  tables: StatusTable[] = [],
): Part => ({
  title,
  lines: lines.filter((line) => typeof line === 'string'),
  tables,
});

/** A table; none if it has no row. */
const tableOf = (title: string, head: string[], rows: string[][]): StatusTable[] =>
  rows.length === 0 ? [] : [{ title, head, rows }];

type Fields = Readonly<Record<string, unknown>>;

/** Fields with a value, one below the other. */
function recordTable(title: string, record: Fields): StatusTable[] {
  const fields = Object.entries(record).filter(([, value]) => !isEmpty(value));
  const rows = fields.map(([name, value]) => [name, valueText(value)]);
  return tableOf(title, ['field', 'value'], rows);
}

/** Records one below the other, with the columns in which one of them has a value. */
function recordsTable(title: string, records: readonly Fields[]): StatusTable[] {
  const names = [...new Set(records.flatMap((one) => Object.keys(one)))];
  const head = names.filter((name) => records.some((one) => !isEmpty(one[name])));
  const rows = records.map((one) => head.map((name) => (isEmpty(one[name]) ? '' : valueText(one[name]))));
  return tableOf(title, head, rows);
}

/** The shop's rows of one order, or why there are none. @param notes what else is to be said of them. */
export function shopPart(
  { code, shop }: Pick<OrderExplanation, 'code' | 'shop'>,
  notes: readonly (string | undefined | false)[],
): Part {
  const none = `The shop has no order ${code}.`;
  const lines = shop?.lines.map(({ order_code: _, ...line }) => line) ?? [];
  const tables = [...recordTable('The order', shop?.order ?? {}), ...recordsTable('Lines', lines)];
  return part('The shop', [!shop && none, ...notes], tables);
}

/** One order as the service shows it. */
export function serviceTables({ sub_orders: subOrders = [], ...fields }: Partial<OrderDetail> = {}): StatusTable[] {
  const shown = subOrders.map(({ id, product_id, price, status, reviews_count, updated_at }) => {
    return { id, product_id, cents: price?.cents, status, reviews_count, updated_at };
  });
  return [...recordTable('The order', fields), ...recordsTable('Sub-orders', shown)];
}

/** A sentence if the shop's own code of an order is not the one that was asked for. */
export const otherSpelling = (asked: string, code: string): string =>
  code === asked ? '' : `The shop’s code of ${asked} is ${code}.\n\n`;

export function orderParts(order: OrderExplanation): Part[] {
  const { shop, link, lines, service, lookupFault, difference } = order;
  const isWith = contactFields.some((field) => link?.sentFields.includes(field));
  const isAccepted = link?.pushedAt === null || link?.orderId !== null;
  const pushedAt = link?.pushedAt ? utc(link.pushedAt) : undefined;
  const pushed = lines.map((line) => [
    line.lineCode,
    line.subOrderId === null ? 'being added' : String(line.subOrderId),
    valueText(line.content),
  ]);
  return [
    shopPart(order, [shop?.fault && `It cannot be read: ${shop.fault}`]),
    part(
      'Pushed',
      link
        ? [
            isAccepted
              ? `Pushed: ${pushedAt ? `last recorded at ${pushedAt}` : 'never recorded'}, ${isWith ? 'with' : 'without'} e-mail and phone.`
              : `Pushed: never accepted by the service, last tried at ${pushedAt}.`,
            `Due again: ${link.dueAt ? utc(link.dueAt) : 'no'}. Failed in a row: ${link.failedPushes}.`,
          ]
        : ['No push of it is remembered.'],
      tableOf('Lines', ['line', 'sub-order', 'as last sent'], pushed),
    ),
    servicePart('order', service, lookupFault, serviceTables(service)),
    deadLetterPart(order.deadLetters),
    part(
      'Difference',
      difference
        ? comparisonLines(difference)
        : ['Nothing was compared: one end lacks the order, shows another one, could not be asked, or cannot be read.'],
    ),
  ];
}

/** What the service has of a record, or why that is not known. */
const servicePart = (what: string, found: unknown, fault: string | undefined, tables: StatusTable[]): Part =>
  part(
    'The service',
    [
      !found &&
        (fault ? `The service could not be asked about the ${what}: ${fault}` : `The service has no such ${what}.`),
    ],
    tables,
  );

export function reviewParts(review: ReviewExplanation): Part[] {
  const { service, serviceFault, warehouse, windows, missed } = review;
  const rows = windows.map((one) => [one.axis, utc(one.startAt), utc(one.endAt), utc(one.startedAt), one.runId]);
  return [
    servicePart('review', service, serviceFault, recordTable('The review', service ?? {})),
    part(
      'The warehouse',
      [!warehouse && 'The warehouse has no such review.'],
      recordTable('The review', warehouse ?? {}),
    ),
    part(
      'Windows that held its dates',
      [
        windows.length === 0 && 'No recorded window holds its dates.',
        missed && `Suspected gone: missed at ${utc(missed.at)} by ${missed.runId}.`,
      ],
      tableOf('Windows', ['axis', 'from', 'to', 'read at', 'run'], rows),
    ),
    deadLetterPart(review.deadLetters),
    part('Difference', [reviewVerdict(review)]),
  ];
}

function deadLetterPart(deadLetters: OrderExplanation['deadLetters']): Part {
  const rows = deadLetters.map(({ id, kind, resolvedAt, isDiscarded, lastFailedAt, reason }) => [
    String(id),
    kind,
    resolvedAt ? `${isDiscarded ? 'discarded' : 'closed'} ${utc(resolvedAt)}` : 'open',
    utc(lastFailedAt),
    reason,
  ]);
  const tables = tableOf('Dead letters', ['id', 'kind', 'state', 'last failed', 'reason'], rows);
  return part('Dead letters', [rows.length === 0 && 'No dead letters.'], tables);
}
