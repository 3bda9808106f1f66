import { isPrivateField, mask, shownValue } from '../base/mask.ts';
import type { OrderExplanation } from '../orders/compare/show-order.ts';
import { contactFields } from '../orders/order/contact-rule.ts';
import { type ReviewExplanation, reviewVerdict } from '../reviews/explain-review.ts';
import type { RawOrder } from '../shop/orders.ts';
import { comparisonLines } from './difference-text.ts';
import { type StatusTable, utc } from './status-view.ts';

/** A part of what is known of a record: sentences, then tables. `explain` draws it for a terminal, the page as HTML. */
export type Part = { title: string; lines: string[]; tables: StatusTable[] };

/** How values and texts of a record are shown. */
export type Show = { value(field: string, value: unknown): string; text(text: string): string };

/** For the operator who asked. Long values are cut: `--json` has them whole. */
export const openly: Show = {
  value(_, value) {
    const isPlain = typeof value === 'string' || value instanceof Date;
    const text = isEmpty(value) ? 'nothing' : isPlain ? String(dated(value)) : JSON.stringify(value);
    return text.length > 80 ? `${text.slice(0, 79)}…` : text;
  },
  text: (text) => text,
};

/**
 * For the page, which more people see: keys, dates and short numbers as they are, of other values only that there is
 * one, and never a text of the customer or about one.
 */
export const discreetly: Show = {
  value(field, value) {
    if (isEmpty(value)) return 'nothing';
    if (isPrivateField(field) || field.startsWith('user_')) return 'a value';
    // Keys may have many digits; one that looks like a phone number is masked.
    const isKey = field === 'line_code' || (typeof value === 'number' && /(^|_)(id|count)$/.test(field));
    if (isKey) return mask(String(value));
    return shownValue(dated(value));
  },
  text: mask,
};

const isEmpty = (value: unknown) => value === null || value === undefined || value === '';
const dated = (value: unknown) => (value instanceof Date ? value.toISOString() : value);

/** A table; none where it has no row. */
const tableOf = (title: string, head: string[], rows: string[][]): StatusTable[] =>
  rows.length === 0 ? [] : [{ title, head, rows }];

type Fields = Readonly<Record<string, unknown>>;

/** Fields with a value, one below the other. */
function recordTable(title: string, record: Fields, show: Show): StatusTable[] {
  const fields = Object.entries(record).filter(([, value]) => !isEmpty(value));
  const rows = fields.map(([name, value]) => [show.text(name), show.value(name, value)]);
  return tableOf(title, ['field', 'value'], rows);
}

/** Records one below the other, with the columns in which one of them has a value. */
function recordsTable(title: string, records: readonly Fields[], show: Show): StatusTable[] {
  const names = [...new Set(records.flatMap((one) => Object.keys(one)))];
  const head = names.filter((name) => records.some((one) => !isEmpty(one[name])));
  const rows = records.map((one) => head.map((name) => (isEmpty(one[name]) ? '' : show.value(name, one[name]))));
  return tableOf(title, head.map(show.text), rows);
}

/** The shop's rows of one order. */
export function shopTables({ order, lines }: RawOrder, show: Show): StatusTable[] {
  const ofOrder = lines.map(({ order_code: _, ...line }) => line);
  return [...recordTable('The order', order, show), ...recordsTable('Lines', ofOrder, show)];
}

/** Says so where the shop's own code of an order is not the one that was asked for. */
export const otherSpelling = (asked: string, code: string): string =>
  code === asked ? '' : `The shop’s code of ${asked} is ${code}.\n\n`;

/** @param shopFault why nobody knows what the shop has. */
export function orderParts(order: OrderExplanation, show: Show, shopFault?: string): Part[] {
  const { code, shop, link, lines, service, lookupFault, difference } = order;
  const notAsked = lookupFault && `The service could not be asked about the order: ${show.text(lookupFault)}`;
  const { sub_orders: subOrders = [], ...fields } = service ?? {};
  const ofService = subOrders.map(({ id, product_id, price, status, reviews_count, updated_at }) => {
    return { id, product_id, cents: price?.cents, status, reviews_count, updated_at };
  });
  const isWith = contactFields.some((field) => link?.sentFields.includes(field));
  const pushed = lines.map((line) => [
    show.text(line.lineCode),
    line.subOrderId === null ? 'being added' : String(line.subOrderId),
    show.value('content', line.content),
  ]);
  return [
    {
      title: 'The shop',
      lines: [
        ...(shop || shopFault ? [] : [`The shop has no order ${code}.`]),
        ...[shopFault, shop?.fault].flatMap((fault) => (fault ? [`It cannot be read: ${show.text(fault)}`] : [])),
      ],
      tables: shop ? shopTables(shop, show) : [],
    },
    {
      title: 'Pushed',
      lines: link
        ? [
            `Pushed: ${link.pushedAt ? `last recorded at ${utc(link.pushedAt)}` : 'never recorded'}, ` +
              `${isWith ? 'with' : 'without'} e-mail and phone.`,
            `Due again: ${link.dueAt ? utc(link.dueAt) : 'no'}. Failed in a row: ${link.failedPushes}.`,
          ]
        : ['No push of it is remembered.'],
      tables: tableOf('Lines', ['line', 'sub-order', 'as last sent'], pushed),
    },
    {
      title: 'The service',
      lines: service ? [] : [notAsked ?? 'The service has no such order.'],
      tables: [...recordTable('The order', fields, show), ...recordsTable('Sub-orders', ofService, show)],
    },
    deadLetterPart(order.deadLetters, show),
    {
      title: 'Difference',
      lines: difference
        ? comparisonLines(difference, show)
        : ['Nothing was compared: the shop or the service does not have the order, or it cannot be read.'],
      tables: [],
    },
  ];
}

export function reviewParts(review: ReviewExplanation, show: Show): Part[] {
  const { service, serviceFault, warehouse, windows, missed } = review;
  const notAsked = serviceFault && `The service could not be asked about the review: ${show.text(serviceFault)}`;
  return [
    {
      title: 'The service',
      lines: service ? [] : [notAsked ?? 'The service has no such review (404).'],
      tables: recordTable('The review', service ?? {}, show),
    },
    {
      title: 'The warehouse',
      lines: warehouse ? [] : ['The warehouse has no such review.'],
      tables: recordTable('The review', warehouse ?? {}, show),
    },
    {
      title: 'Windows that held its dates',
      lines: [
        ...(windows.length === 0 ? ['No recorded window holds its dates.'] : []),
        ...(missed ? [`Suspected gone: missed at ${utc(missed.at)} by ${missed.runId}.`] : []),
      ],
      tables: tableOf(
        'Windows',
        ['axis', 'from', 'to', 'read at', 'run'],
        windows.map((one) => [one.axis, utc(one.startAt), utc(one.endAt), utc(one.startedAt), one.runId]),
      ),
    },
    deadLetterPart(review.deadLetters, show),
    { title: 'Difference', lines: [reviewVerdict(review)], tables: [] },
  ];
}

function deadLetterPart(deadLetters: OrderExplanation['deadLetters'], show: Show): Part {
  const rows = deadLetters.map(({ id, kind, resolvedAt, lastFailedAt, reason }) => [
    String(id),
    kind,
    resolvedAt ? `closed ${utc(resolvedAt)}` : 'open',
    utc(lastFailedAt),
    show.text(reason),
  ]);
  return {
    title: 'Dead letters',
    lines: rows.length === 0 ? ['No dead letters.'] : [],
    tables: tableOf('Dead letters', ['id', 'kind', 'state', 'last failed', 'reason'], rows),
  };
}

/** Nothing anywhere is known of the code: it is probably mistyped. */
export const isUnknownOrder = ({ shop, link, service, lookupFault, deadLetters }: OrderExplanation): boolean =>
  !shop && !link && !service && lookupFault === undefined && deadLetters.length === 0;

export const isUnknownReview = ({ service, serviceFault, warehouse, deadLetters }: ReviewExplanation): boolean =>
  !service && !serviceFault && !warehouse && deadLetters.length === 0;
