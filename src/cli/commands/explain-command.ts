import { orderDeps } from '../../app/deps.ts';
import { UsageError } from '../../base/errors.ts';
import { explainOrder, type OrderExplanation } from '../../orders/compare/show-order.ts';
import { contactFields } from '../../orders/order/contact-rule.ts';
import { explainReview, type ReviewExplanation, reviewVerdict } from '../../reviews/explain-review.ts';
import { oneReviewMs } from '../../reviews/refresh-review.ts';
import type { Command } from '../command.ts';
import { comparison, otherSpelling, shopRows } from '../ui/order-difference.ts';
import { table } from '../ui/table.ts';
import { withApp } from '../ui/with-app.ts';

export const explainCommand: Command = {
  define(commander, run) {
    commander
      .command('order <code>')
      .description('what the shop holds, what was pushed, what the service holds, and what differs now')
      .action((code: string) =>
        run((context) =>
          withApp(context, undefined, async (app) => {
            const explanation = await explainOrder(orderDeps(app, context.signal), code);
            return {
              text: `${otherSpelling(code, explanation)}${draw(explanation)}`,
              json: explanation,
              incomplete: isUnknown(explanation),
            };
          }),
        ),
      );
    commander
      .command('review <id>')
      .description('what the service answers, what the warehouse holds, which windows held it, and what differs now')
      .action((text: string) =>
        run(async (context) => {
          const id = reviewId(text);
          return await withApp(context, undefined, async ({ api, warehouse }) => {
            const explanation = await explainReview({ reviews: api.reviews, warehouse }, id, {
              giveUpAfterMs: oneReviewMs,
            });
            const { service, serviceFault, warehouse: kept, deadLetters } = explanation;
            const isUnknown = !service && !kept && deadLetters.length === 0;
            const incomplete = serviceFault !== undefined || isUnknown;
            return { text: drawReview(explanation), json: explanation, incomplete };
          });
        }),
      );
  },
};

function reviewId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`${JSON.stringify(text)} is no id of a review, expected a number such as 4711`);
}

function drawReview(review: ReviewExplanation): string {
  const { service, serviceFault, warehouse, windows, missed } = review;
  const unlisted = serviceFault
    ? `The service could not be asked about the review: ${serviceFault}`
    : 'The service has no such review (404).';
  return [
    service ? `The service\n${fieldTable(service)}` : unlisted,
    warehouse ? `The warehouse\n${fieldTable(warehouse)}` : 'The warehouse has no such review.',
    windows.length === 0
      ? 'No recorded window holds its dates.'
      : `Windows that held its dates\n${table(
          ['axis', 'from', 'to', 'read at', 'run'],
          windows.map((one) => [one.axis, seconds(one.startAt), seconds(one.endAt), seconds(one.startedAt), one.runId]),
        )}`,
    ...(missed ? [`Suspected gone: missed at ${seconds(missed.at)} by ${missed.runId}.`] : []),
    drawDeadLetters(review),
    reviewVerdict(review),
  ].join('\n\n');
}

const seconds = (date: Date) => date.toISOString().slice(0, 19);

/** Lists and texts are cut: `--json` has them whole. */
function fieldTable(record: Record<string, unknown>): string {
  const cells = Object.entries(record).filter(([, value]) => value !== null);
  const shown = (value: unknown) => {
    const text =
      value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value);
    return text.length > 80 ? `${text.slice(0, 79)}…` : text;
  };
  return table(
    ['field', 'value'],
    cells.map(([name, value]) => [name, shown(value)]),
  );
}

function draw(order: OrderExplanation): string {
  return [drawShop(order), drawPushed(order), drawService(order), drawDeadLetters(order), drawComparison(order)].join(
    '\n\n',
  );
}

/** Nothing anywhere is known of the code: it is probably mistyped. */
const isUnknown = ({ shop, link, service, lookupFault, deadLetters }: OrderExplanation) =>
  !shop && !link && !service && lookupFault === undefined && deadLetters.length === 0;

function drawShop({ code, shop }: OrderExplanation): string {
  return shop ? `The shop\n${shopRows(shop)}` : `The shop has no order ${code}.`;
}

function drawPushed({ link, lines }: OrderExplanation): string {
  if (!link) return 'No push of it is remembered.';
  const pushed = link.pushedAt ? `last recorded at ${link.pushedAt.toISOString()}` : 'never recorded';
  const contact = contactFields.some((field) => link.sentFields.includes(field)) ? 'with' : 'without';
  const rows = lines.map((line) => [
    line.lineCode,
    line.subOrderId === null ? 'being added' : String(line.subOrderId),
    JSON.stringify(line.content),
  ]);
  return [
    `Pushed: ${pushed}, ${contact} e-mail and phone.`,
    ...(rows.length > 0 ? [table(['line', 'sub-order', 'as last sent'], rows)] : []),
  ].join('\n');
}

function drawService({ service, lookupFault }: OrderExplanation): string {
  if (lookupFault !== undefined) return `The service could not be asked about the order: ${lookupFault}`;
  if (!service) return 'The service has no such order.';
  const rows = service.sub_orders.map((one) => [
    String(one.id),
    String(one.product_id),
    String(one.price?.cents ?? ''),
    one.status ?? '',
    String(one.reviews_count ?? '?'),
  ]);
  const head =
    `The service: order ${service.id}, changed ${service.updated_at ?? '?'}, ` +
    `e-mail ${service.user_email ?? 'none'}, phone ${service.phone ?? 'none'}`;
  return `${head}\n${table(['sub-order', 'product', 'cents', 'status', 'reviews'], rows)}`;
}

function drawDeadLetters({ deadLetters }: Pick<OrderExplanation, 'deadLetters'>): string {
  if (deadLetters.length === 0) return 'No dead letters.';
  const rows = deadLetters.map((deadLetter) => [
    String(deadLetter.id),
    deadLetter.kind,
    deadLetter.resolvedAt ? `resolved ${deadLetter.resolvedAt.toISOString().slice(0, 19)}` : 'open',
    deadLetter.reason,
  ]);
  return `Dead letters\n${table(['id', 'kind', 'state', 'reason'], rows)}`;
}

function drawComparison({ difference }: OrderExplanation): string {
  return difference
    ? comparison(difference)
    : 'Nothing was compared: the shop or the service does not have the order, or it cannot be read.';
}
