import { orderDeps, reviewDeps } from '../../app/deps.ts';
import { requireSameService } from '../../app/require-same-service.ts';
import { requireSameShop } from '../../app/require-same-shop.ts';
import { ownPushRights } from '../../app/run-rights.ts';
import { codesText, counted, formatCount } from '../../base/counts.ts';
import { spanOfDays } from '../../base/time/day-range.ts';
import { type OrderVerification, verifyOrders } from '../../orders/compare/compare-orders.ts';
import { type Found, type Verification, verifyReviews } from '../../reviews/verify/verify-reviews.ts';
import { recount } from '../../warehouse/bi/recount.ts';
import type { Context, Define, Report } from '../command.ts';
import { comparedText } from '../ui/difference-text.ts';
import { blocks, firstLines, table } from '../ui/table.ts';
import { withSystems } from '../with-app.ts';

type Options = { from?: string; to?: string; repair?: boolean };

export const define: Define = (commander, run) => {
  const add = (name: string, what: string, repair: string, more: string, verify: typeof runVerifyReviews) =>
    commander
      .command(name)
      .description(what)
      .option('--from <day>', 'first day of creation, yyyy-mm-dd in the service’s time zone (default: all)')
      .option('--to <day>', 'last day, inclusive')
      .option('--repair', repair)
      .addHelpText('after', `\nExit status 1 if a difference is left, or something could not be compared.${more}`)
      .action((options: Options) => run((context) => verify(context, options)));
  add(
    'orders',
    'which orders the service lacks, shows differently from the shop, or has although they left the shop',
    'push again what is missing or differs; sends no e-mail address and no phone number',
    `
Mostly one request per order.
Orders that left the shop are only named, and are a difference with ORDER_DELETES=send: sync reconcile deletes them.
Orders of the service that review-sync never pushed, and that are not in the shop, are not looked for.`,
    runVerifyOrders,
  );
  add(
    'reviews',
    'which reviews the warehouse lacks, holds in an older version, or holds although they are gone',
    'bring in what is missing or stale, and mark deleted what the service says is gone',
    '',
    runVerifyReviews,
  );
};

async function runVerifyReviews(context: Context, { repair = false, ...days }: Options): Promise<Report> {
  // Wrong days are reported before anything is opened.
  spanOfDays(days, context.config().api.timeZone);
  return withSystems(context, { label: 'verify reviews', unit: 'windows' }, async (app, progress) => {
    await requireSameService(app.warehouse.db, app.config.api);
    const deps = reviewDeps(app, context.signal);
    const report = await verifyReviews({ ...deps, onProgress: progress.update }, days, { repair });
    if (repair) await recount(app.warehouse.db);
    const isFine = report.problems.length === 0 && (report.differing === 0 || report.repaired);
    return { text: drawReviews(report, repair), json: report, incomplete: !isFine };
  });
}

function drawReviews(report: Verification, repair: boolean): string {
  const { differing, differences, unlisted, problems } = report;
  const columns = ['service', 'warehouse', 'missing', 'stale', 'extra'] as const;
  return blocks(
    table(columns, [columns.map((column) => formatCount(report[column]))]),
    unlisted > 0 && `${counted(unlisted, 'review')} in no list that the service knows: hidden, perhaps.`,
    firstLines(differences.map(sentence), differing),
    ...problems,
    conclusion(report, repair),
  );
}

function sentence({ id, kind, fields, day }: Found): string {
  const texts: Readonly<Record<typeof kind, string>> = {
    missing: 'is not in the warehouse',
    stale: `differs in ${fields.join(', ')}`,
    reverted: `has an older updated_at at the service than in the warehouse, and differs in ${fields.join(', ')}`,
    extra: 'is gone from the service',
    refused: 'cannot be held by the warehouse as it is; see dead-letters',
  };
  return `review ${id ?? 'without a usable id'} of ${day ?? 'no day'} ${texts[kind]}`;
}

function conclusion({ differing, unrepairable, problems }: Verification, repair: boolean): string {
  if (differing === 0 && problems.length === 0) return 'Service and warehouse hold the same reviews.';
  if (differing === 0) return 'No review is known to differ, but not all of them could be compared.';
  const held = repair
    ? '; those that could be read and held are repaired now.'
    : '. To correct: review-sync verify reviews --repair. It also brings back what forget masked: ' +
      'have that deleted at the service first.';
  const stuck = ` The warehouse cannot hold ${formatCount(unrepairable)} of them: see review-sync dead-letters.`;
  const all = counted(differing, 'review differs', 'reviews differ');
  return all + (unrepairable < differing ? held : '.') + (unrepairable > 0 ? stuck : '');
}

async function runVerifyOrders(context: Context, { repair = false, ...days }: Options): Promise<Report> {
  const { orderDeletes: deletes } = context.config();
  const rights = ownPushRights(context.config(), 'repair', days);
  return withSystems(context, { label: 'verify orders', unit: 'orders', readsShop: true }, async (app, progress) => {
    await requireSameService(app.warehouse.db, app.config.api);
    await requireSameShop({ shop: app.shop, db: app.warehouse.db });
    const onProgress = (orders: number, note: string) => progress.update(orders, undefined, note);
    const report = await verifyOrders({ ...orderDeps(app, context.signal), onProgress }, { repair, rights });
    const { differing, extra, notCompared } = report;
    // With ORDER_DELETES=off, orders that left the shop stay at the service.
    const isFine =
      notCompared === 0 && (differing === 0 || report.repair?.left === 0) && (extra === 0 || deletes === 'off');
    return { text: drawOrders(report, deletes), json: report, incomplete: !isFine };
  });
}

function drawOrders(report: OrderVerification, deletes: 'off' | 'send'): string {
  const { differing, notCompared, deleted, extra, waiting, unmatched } = report;
  const sums = `${formatCount(report.equal)} the same, ${formatCount(differing)} different, ${formatCount(notCompared)} not compared`;
  const more = deleted > 0 ? `, ${formatCount(deleted)} deleted in the shop, not compared` : '';
  const why =
    deletes === 'off'
      ? 'Nothing is deleted at the service with ORDER_DELETES=off.'
      : 'Those of the last ORDER_RESCAN_DAYS without reviews are deleted a day after they were first missed by: ' +
        'review-sync sync reconcile. Delete older ones at the service by hand.';
  const kept =
    `${counted(unmatched.subOrders, 'sub-order')} at the service without a line in the shop, kept, ` +
    `in ${counted(unmatched.orders, 'order')}: ${codesText(unmatched.codes, unmatched.orders)}. ${seeWhy}`;
  return blocks(
    `${counted(report.orders, 'order')} of the shop: ${sums}${more}.`,
    firstLines(report.differences.map(comparedText), differing),
    extra > 0 && `${counted(extra, 'pushed order')} left the shop: ${codesText(report.extraCodes, extra)}. ${why}`,
    firstLines(report.unknown.map(comparedText), notCompared),
    unmatched.subOrders > 0 && kept,
    waiting > 0 && `${counted(waiting, 'order')} with lines or a grade that wait until the service has them.`,
    orderConclusion(report),
  );
}

const seeWhy = 'See why with: review-sync explain order <code>';

function orderConclusion({ differing, notCompared, extra, repair }: OrderVerification): string {
  if (differing === 0 && notCompared > 0)
    return `No order is known to differ; ${formatCount(notCompared)} could not be compared.`;
  if (differing === 0 && extra > 0) return 'All other orders are the same at the service.';
  if (differing === 0) return 'Shop and service agree in all that could be compared.';
  if (!repair) return 'To push again what is missing or differs: review-sync verify orders --repair';
  const { repaired, left, leftCodes } = repair;
  const all = `${counted(repaired, 'order')} repaired`;
  if (left === 0) return `${all}; none differs any more.`;
  const still = `${counted(left, 'still differs', 'still differ')}: ${codesText(leftCodes, left)}`;
  return `${all}; ${still}. ${seeWhy}. E-mail addresses and phone numbers are sent by the next: review-sync sync orders`;
}
