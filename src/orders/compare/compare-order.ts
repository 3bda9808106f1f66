import type { MoneyAmount, OrderDetail, SubOrder } from '../../review-api/index.ts';
import { type ContactField, contactFields } from '../order/contact-rule.ts';
import type { DesiredOrder } from '../order/desired-order.ts';
import { diffSubOrders, type KeptReason } from '../order/diff-sub-orders.ts';
import { type LineLink, matchSubOrders } from '../order/match-sub-orders.ts';
import type { SubOrderContent } from '../order/order-body.ts';
import { areSameOptions, isSameCode, isSamePrice, isSameSecond } from '../order/same-content.ts';

/**
 * One field of the shop beside what the service shows of it.
 *
 * - `equal`: both say the same.
 * - `different`: they do not.
 * - `not comparable`: the service does not show the field, or the service cannot hold the shop's value. Nobody knows
 *   whether they differ.
 */
export type FieldComparison = {
  field: string;
  outcome: 'equal' | 'different' | 'not comparable';
  /** Null: no value. */
  shop: string | null;
  service: string | null;
  /** What a reader must know about the outcome. */
  note?: string;
  /** True: no push changes it, because the contact rule withholds the shop's value. */
  isLeftByRule?: true;
};

/**
 * One order line of the shop, or one sub-order that no line has.
 *
 * - `both`: the service has the line's sub-order; `fields` compares them.
 * - `missing`: the service has no sub-order for the line.
 * - `surplus`: the line is gone from the shop, or has another sub-order; a push removes this one.
 * - `kept`: the line is gone from the shop, and its sub-order stays.
 * - `unmanaged`: another system created the sub-order, and no line matches it.
 * - `not comparable`: the line waits for a product id, or its row cannot be read.
 */
export type LineComparison = {
  kind: 'both' | 'missing' | 'surplus' | 'kept' | 'unmanaged' | 'not comparable';
  lineCode: string | null;
  subOrderId: number | null;
  fields: FieldComparison[];
  note?: string;
};

export type OrderComparison = { code: string; fields: FieldComparison[]; lines: LineComparison[] };

export type ComparisonFacts = {
  /** What review-sync remembers of the order's lines, and of creations that the service has not shown (undefined: none). */
  links: readonly LineLink[];
  unseen?: readonly LineLink[];
  /** What the contact rule withholds: the service is not expected to have it. */
  withheld: readonly ContactField[];
};

/** Fields of `POST /v1/orders` that the spec's "Order (detail)" does not show. Some services show them all the same. */
const rarelyShown = ['user_grade_id', 'store_name', 'order_device', 'mileage'] as const;

/** Compares an order as the shop wants it with the order as the service shows it, field by field and line by line. */
export function compareOrder(desired: DesiredOrder, detail: OrderDetail, facts: ComparisonFacts): OrderComparison {
  const lines = lineComparisons(desired, detail.sub_orders, facts);
  return { code: desired.prepared.order.code, fields: orderFields(desired, detail, facts), lines };
}

/** Whether a push would have something to change. What the contact rule leaves, and what stays at the service, does not count. */
export function isDifferent({ fields, lines }: OrderComparison): boolean {
  return (
    fields.some(isChangeable) ||
    lines.some((line) => line.kind === 'missing' || line.kind === 'surplus' || line.fields.some(isChangeable))
  );
}

/** The fields of which nobody knows whether they differ; field `line`: nothing of the line could be compared. */
export function notComparable({ fields, lines }: OrderComparison): { field: string; lineCode: string | null }[] {
  const of = (lineCode: string | null, some: readonly FieldComparison[]) =>
    some.filter((one) => one.outcome === 'not comparable').map(({ field }) => ({ field, lineCode }));
  return [
    ...of(null, fields),
    ...lines.flatMap((line) =>
      line.kind === 'not comparable' ? { field: 'line', lineCode: line.lineCode } : of(line.lineCode, line.fields),
    ),
  ];
}

/** The comparison without values of the customer's name, e-mail address and phone number: only whether there is one. */
export function withoutPersonalData(comparison: OrderComparison): OrderComparison {
  const hidden = (value: string | null) => (value === null ? null : 'a value');
  return {
    ...comparison,
    fields: comparison.fields.map((one) =>
      personal.includes(one.field) ? { ...one, shop: hidden(one.shop), service: hidden(one.service) } : one,
    ),
  };
}

const personal: readonly string[] = ['user_name', ...contactFields];

const isChangeable = ({ outcome, isLeftByRule }: FieldComparison) => outcome === 'different' && !isLeftByRule;

function orderFields(
  { body, unlinkedGrade }: DesiredOrder,
  detail: OrderDetail,
  facts: ComparisonFacts,
): FieldComparison[] {
  const shown = detail as OrderDetail & Record<string, unknown>;
  // Some services show the account where there is no name.
  const isAccountAsName =
    body.user_name === undefined && detail.username !== undefined && detail.username === detail.user_code;
  const [email, phone] = [
    text('user_email', body.user_email, detail.user_email),
    text('user_phone', body.user_phone, detail.phone),
  ];
  return [
    codeField(body.code, detail.code),
    dateField('created_at', body.created_at, detail.created_at ?? undefined),
    priceField('total_price', body.total_price, detail.total_price),
    text('user_code', body.user_code, detail.user_code),
    text('user_name', body.user_name, isAccountAsName ? null : detail.username),
    facts.withheld.includes('user_email') ? withheld(email) : email,
    facts.withheld.includes('user_phone') ? withheld(phone) : phone,
    ...rarelyShown.map((field): FieldComparison => {
      if (field === 'user_grade_id' && unlinkedGrade !== undefined) {
        const note = `the grade ${unlinkedGrade} is not at the service yet; until sync catalog has made it, the order keeps the grade that was sent before`;
        return { field, outcome: 'not comparable', shop: null, service: null, note };
      }
      return text(field, stringOf(body[field]), shown[field] === undefined ? undefined : stringOf(shown[field]));
    }),
  ];
}

const notShown = 'the service does not show this field';

function codeField(ours: string, theirs: string): FieldComparison {
  return { field: 'code', outcome: isSameCode(theirs, ours) ? 'equal' : 'different', shop: ours, service: theirs };
}

/** @param theirs undefined: the response lacks the field. The service may have a value all the same. */
function text(field: string, ours: string | null | undefined, theirs: string | null | undefined): FieldComparison {
  const [shop, service] = [ours || null, theirs || null];
  if (theirs === undefined) return { field, outcome: 'not comparable', shop, service, note: notShown };
  return { field, outcome: shop === service ? 'equal' : 'different', shop, service };
}

/** What the contact rule withholds is not expected at the service; what the service shows instead stays there. */
function withheld(field: FieldComparison): FieldComparison {
  if (field.shop === null || field.outcome !== 'different') return field;
  const note = 'the contact rule withholds the shop’s value';
  if (field.service === null) return { ...field, outcome: 'equal', note };
  return { ...field, note, isLeftByRule: true };
}

function dateField(field: string, ours: string | null | undefined, theirs: string | null | undefined): FieldComparison {
  const values = { field, shop: ours ?? null, service: theirs ?? null };
  if (theirs === undefined) return { ...values, outcome: 'not comparable', note: notShown };
  return { ...values, outcome: isSameSecond(theirs, ours) ? 'equal' : 'different' };
}

/** Hundredths or whole units: either reading of the service's amount agrees. */
function priceField(field: string, ours: string, theirs: MoneyAmount | null): FieldComparison {
  if (theirs === null) return { field, outcome: 'not comparable', shop: ours, service: null, note: notShown };
  const service = `${theirs.cents} cents of ${theirs.currency_iso}`;
  return { field, outcome: isSamePrice(theirs, ours) ? 'equal' : 'different', shop: ours, service };
}

function lineComparisons(
  { prepared }: DesiredOrder,
  theirs: readonly SubOrder[],
  { links, unseen = [] }: Pick<ComparisonFacts, 'links' | 'unseen'>,
): LineComparison[] {
  const { lines, waiting, faulty } = prepared;
  const untouched = new Set([...waiting, ...faulty].map((line) => line.lineCode));
  const { ofLines } = matchSubOrders(theirs, lines, links, untouched, unseen);
  const { remove, removeDuplicates, kept } = diffSubOrders(theirs, lines, links, untouched, { unseen });
  const ofUntouched = links.filter((link) => untouched.has(link.lineCode)).map((link) => link.subOrderId);
  const accounted = new Set([
    ...[...ofLines.values()].map((match) => match.subOrder.id),
    ...[...remove, ...removeDuplicates, ...kept].map((one) => one.subOrderId),
    ...ofUntouched,
  ]);
  return [
    ...lines.map(({ lineCode, content }): LineComparison => {
      const match = ofLines.get(lineCode);
      if (!match) return { kind: 'missing', lineCode, subOrderId: null, fields: [] };
      const { subOrder } = match;
      const hadStatus = match.kind !== 'unmanaged' && match.content.status !== undefined;
      return { kind: 'both', lineCode, subOrderId: subOrder.id, fields: subOrderFields(content, subOrder, hadStatus) };
    }),
    ...[...remove, ...removeDuplicates].map((one): LineComparison => ({ kind: 'surplus', ...one, fields: [] })),
    ...kept.map(({ why, ...one }): LineComparison => ({ kind: 'kept', ...one, fields: [], note: keptNotes[why] })),
    ...theirs
      .filter(({ id }) => !accounted.has(id))
      .map(({ id }): LineComparison => {
        return { kind: 'unmanaged', lineCode: null, subOrderId: id, fields: [], note: keptNotes.unmanaged };
      }),
    ...waiting.map(({ lineCode, productCode }): LineComparison => {
      const note = `it waits until the service is known to have product ${productCode}`;
      return { kind: 'not comparable', lineCode, subOrderId: null, fields: [], note };
    }),
    ...faulty.map(({ lineCode, reason }): LineComparison => {
      return { kind: 'not comparable', lineCode, subOrderId: null, fields: [], note: reason };
    }),
  ];
}

const keptNotes: Readonly<Record<KeptReason, string>> = {
  'has reviews': 'it has, or may have, reviews',
  unmanaged: 'review-sync did not create it',
};

/** @param hadStatus whether a status was sent before. */
export function subOrderFields(ours: SubOrderContent, theirs: SubOrder, hadStatus: boolean): FieldComparison[] {
  return [
    text('product_id', stringOf(ours.product_id), stringOf(theirs.product_id)),
    priceField('price', ours.price, theirs.price),
    statusField(ours.status, theirs.status, hadStatus),
    dateField('delivery_started_at', ours.delivery_started_at, theirs.delivery_started_at),
    dateField('delivered_at', ours.delivered_at, theirs.delivered_at),
    text('invoice', ours.invoice, theirs.invoice),
    text('delivery_service', ours.delivery_service, theirs.delivery_service),
    optionsField(ours.product_options, theirs.product_options),
  ];
}

function optionsField(ours: Options, theirs: Options | undefined): FieldComparison {
  const field = text('product_options', optionsText(ours), theirs && optionsText(theirs));
  return theirs && areSameOptions(theirs, ours) ? { ...field, outcome: 'equal' } : field;
}

function statusField(
  ours: string | null | undefined,
  theirs: string | null | undefined,
  hadStatus: boolean,
): FieldComparison {
  const field = text('status', ours, theirs);
  if (field.shop !== null || field.service === null || hadStatus) return field;
  return { ...field, outcome: 'not comparable', note: 'the shop has no status, and the service shows one of its own' };
}

type Options = Readonly<Record<string, string>>;

const optionsText = (options: Options): string | null => {
  const pairs = Object.entries(options).map(([name, value]) => `${name}:${value}`);
  return pairs.length === 0 ? null : pairs.sort().join(', ');
};

const stringOf = (value: unknown): string | null =>
  value === undefined || value === null || value === '' ? null : String(value);
