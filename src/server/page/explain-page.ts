import { formatCount, utc } from '../../app/status-view.ts';
import { mask, shownValue } from '../../base/mask.ts';
import type { OrderExplanation } from '../../orders/compare/show-order.ts';
import { contactFields } from '../../orders/order/contact-rule.ts';
import { isDifferent } from '../../orders/order/order-difference.ts';
import type { FieldDifference } from '../../orders/order/sub-orders.ts';
import { reviewVerdict } from '../../reviews/explain-review.ts';
import type { Answer, Explained } from '../explain.ts';
import { type Html, html } from './html.ts';
import { layout, type Search, section } from './layout.ts';
import { runPath } from './runs-in-progress.ts';
import { facts, statusTable } from './sections.ts';

/**
 * What is known of an order or a review. More people see the page than the command line, so it shows keys, dates,
 * numbers and whether a field has a value, never a text of the customer or about one.
 *
 * @param answer undefined: nothing was looked up yet.
 */
export function explainPage(search: Search, answer: Answer | undefined): string {
  const main = html`<p><a href="/">Status</a></p>${answer ? answered(search, answer) : notYet()}`;
  return layout({ title: 'explain', main, search });
}

const notYet = () =>
  html`<h2>Explain</h2><p>Press Explain to look it up in the shop, the service and the warehouse.</p>`;

function answered(search: Search, answer: Answer): Html {
  switch (answer.kind) {
    case 'explained':
      return explained(search, answer.explained);
    case 'invalid':
      return html`<h2>Not looked up</h2><p>${search.of === 'review' ? 'Expected the id of a review, a number such as 4711.' : 'Expected the code of an order: 1 to 200 characters, none of them a control character.'}</p>`;
    case 'busy':
      return html`<h2>Not looked up</h2><p>Searches are limited, so that they load neither shop nor service. Try again in ${answer.seconds} s.</p>`;
    case 'late':
      return html`<h2>Not looked up</h2><p>Shop or service did not respond in time. <code>npx review-sync explain</code> waits longer.</p>`;
    default:
      return answer satisfies never;
  }
}

function explained({ key }: Search, found: Explained): Html {
  return found.of === 'order' ? orderOf(key, found) : reviewOf(key, found);
}

function orderOf(code: string, { order, shopFault, serviceFault }: Explained & { of: 'order' }): Html {
  const { shop, link, lines = [], service, deadLetters = [], difference } = order;
  if (!shop && !link && !service && deadLetters.length === 0 && !shopFault && !serviceFault) {
    return html`<h2>Order</h2><p>Nothing is known of this code, neither in the shop nor at the service.</p>`;
  }
  return html`<h2>Order ${code}</h2>
    ${section('shop', 'The shop', shopFault ? notKnown(shopFault) : shopOrder(shop))}
    ${section('pushed', 'Pushed', pushed(link, lines))}
    ${section('service', 'The service', serviceFault ? notKnown(serviceFault) : serviceOrder(service))}
    ${section('dead-letters', 'Dead letters', deadLetterList(deadLetters))}
    ${section('difference', 'Difference', differences(difference))}
    <p class="soft">Values of the customer are not shown here: <code>npx review-sync explain order</code> has more.</p>`;
}

const notKnown = (fault: string) => html`<p>Not known: ${fault}.</p>`;

/** Dates and short numbers as they are; of other values only whether there is one. */
const safe = (value: unknown) => (value === null || value === undefined || value === '' ? 'none' : shownValue(value));
const instant = (value: unknown) => {
  const date = typeof value === 'string' || value instanceof Date ? new Date(value) : undefined;
  return date && !Number.isNaN(date.getTime()) ? utc(date) : safe(value);
};
const has = (value: unknown) => (value === null || value === undefined || value === '' ? 'none' : 'a value');

function shopOrder(shop: OrderExplanation['shop']): Html {
  if (!shop) return html`<p>The shop has no such order.</p>`;
  const { order, lines, fault } = shop;
  return html`${fault !== undefined && html`<p>It cannot be read: ${mask(fault)}</p>`}${facts([
    ['Created', instant(order.created_at)],
    ['Updated', instant(order.updated_at)],
    ['Deleted', instant(order.deleted_at)],
    ['Total price', safe(order.total_price)],
    ['Lines', formatCount(lines.length)],
    ['E-mail', has(order.user_email)],
    ['Phone', has(order.user_phone)],
    ['Name', has(order.user_name)],
  ])}`;
}

function pushed(link: OrderExplanation['link'], lines: OrderExplanation['lines']): Html {
  if (!link) return html`<p>No push of it is remembered.</p>`;
  const rows = lines.map((line) => [
    mask(line.lineCode),
    line.subOrderId === null ? 'being added' : String(line.subOrderId),
  ]);
  return html`${facts([
    ['Last recorded', link.pushedAt ? utc(link.pushedAt) : 'never'],
    [
      'Contact',
      contactFields.some((field) => link.sentFields.includes(field))
        ? 'with e-mail or phone'
        : 'without e-mail and phone',
    ],
    ['Failed in a row', formatCount(link.failedPushes)],
    ['Due again', link.dueAt ? utc(link.dueAt) : 'no'],
  ])}${rows.length > 0 && statusTable({ title: 'Lines as last pushed', head: ['Line', 'Sub-order'], rows })}`;
}

function serviceOrder(service: OrderExplanation['service']): Html {
  if (!service) return html`<p>The service has no such order.</p>`;
  const rows = service.sub_orders.map((one) => [
    String(one.id),
    String(one.product_id),
    String(one.price?.cents ?? ''),
    String(one.reviews_count ?? 'not known'),
    instant(one.updated_at),
  ]);
  return html`${facts([
    ['Id', String(service.id)],
    ['Updated', instant(service.updated_at)],
    ['E-mail', has(service.user_email)],
    ['Phone', has(service.phone)],
  ])}${statusTable({ title: 'Sub-orders', head: ['Sub-order', 'Product', 'Cents', 'Reviews', 'Updated'], rows })}`;
}

function deadLetterList(all: OrderExplanation['deadLetters']): Html {
  const rows = all.map((one) => [
    String(one.id),
    one.kind,
    one.resolvedAt ? `closed ${utc(one.resolvedAt)}` : 'open',
    utc(one.lastFailedAt),
    html`<span class="text">${mask(one.reason)}</span>`,
  ]);
  return statusTable({ title: 'Dead letters', head: ['Id', 'Kind', 'State', 'Last failed', 'Reason'], rows });
}

/** Fields whose values say nothing about the customer. */
const openFields = ['total_price', 'created_at', 'price', 'product_id', 'delivery_started_at', 'delivered_at'];

function differences(difference: OrderExplanation['difference']): Html {
  if (!difference)
    return html`<p>Nothing was compared: one of the two sides does not have the order, cannot be read, or is not known.</p>`;
  const { matched, create, remove, keep } = difference.subOrders;
  const fieldRows = (where: string, fields: readonly FieldDifference[]) =>
    fields.map(({ field, shop, service, isShown }) => {
      const shown = openFields.includes(field) ? safe : has;
      return [where, field, isShown ? 'different' : 'not comparable', shown(shop), shown(service)];
    });
  const whole = (outcome: string) => (one: { lineCode: string | null; subOrderId?: number }) => {
    const name = one.lineCode === null ? `sub-order ${one.subOrderId}` : `line ${one.lineCode}`;
    return [mask(name), 'all', outcome, '', ''];
  };
  const rows = [
    ...fieldRows('order', difference.fields),
    ...matched.flatMap((line) =>
      line.isHidden ? [whole('missing')(line)] : fieldRows(mask(`line ${line.lineCode}`), line.fields),
    ),
    ...create.map(whole('missing')),
    ...remove.map(whole('surplus')),
    ...keep.map(whole('kept')),
    ...difference.linesNotSent.map(whole('not comparable')),
  ];
  const sentence = isDifferent(difference) ? 'Shop and service differ.' : 'No difference in what could be compared.';
  return html`<p>${sentence}</p>${rows.length > 0 && statusTable({ title: 'Difference', head: ['Where', 'Field', 'Outcome', 'Shop', 'Service'], rows })}`;
}

function reviewOf(id: string, { review }: Explained & { of: 'review' }): Html {
  const { service, serviceFault, warehouse, windows, missed, deadLetters } = review;
  if (!service && !warehouse && deadLetters.length === 0 && !serviceFault) {
    return html`<h2>Review</h2><p>Nothing is known of this id, neither at the service nor in the warehouse.</p>`;
  }
  const rows = windows.map((one) => [
    one.axis,
    utc(one.startAt),
    utc(one.endAt),
    utc(one.startedAt),
    html`<a href="${runPath(one.runId)}">${one.runId}</a>`,
  ]);
  return html`<h2>Review ${id}</h2>
    ${section('service', 'The service', serviceFault ? notKnown(serviceFault) : service ? reviewFields(service) : html`<p>The service has no such review (404).</p>`)}
    ${section(
      'warehouse',
      'The warehouse',
      warehouse
        ? html`${reviewFields(warehouse)}${facts([
            ['First seen', utc(warehouse.first_seen_at)],
            ['Last written', utc(warehouse.synced_at)],
            ['Marked deleted', instant(warehouse.deleted_at)],
          ])}`
        : html`<p>The warehouse has no such review.</p>`,
    )}
    ${section(
      'windows',
      'Windows that held its dates',
      html`${statusTable({ title: 'Windows', head: ['Date', 'From', 'To', 'Read at', 'Run'], rows })}${missed && html`<p>Suspected gone: missed at ${utc(missed.at)}.</p>`}`,
    )}
    ${section('dead-letters', 'Dead letters', deadLetterList(deadLetters))}
    ${section('difference', 'Difference', html`<p>${reviewVerdict(review)}</p>`)}
    <p class="soft">Author and text are not shown here: <code>npx review-sync explain review</code> has more.</p>`;
}

const reviewFields = (review: Record<string, unknown>) =>
  facts([
    ['Created', instant(review.created_at)],
    ['Updated', instant(review.updated_at)],
    ['Score', safe(review.score)],
    ['Displayed', review.display === true ? 'yes' : review.display === false ? 'no' : 'not known'],
    ['Product', typeof review.product_id === 'number' ? String(review.product_id) : 'none'],
    ['Text', has(review.message)],
  ]);
