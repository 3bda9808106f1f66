import { addCounts, type Counts } from '../counts.ts';
import type { Logger } from '../log.ts';
import { type OrderDetail, RefusedError, type ReviewApi, UnknownOutcomeError } from '../review-api/index.ts';
import { type NewDeadLetter, putDeadLetter, resolveOrderLetters } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import {
  decideContact,
  forgetSubOrderLinks,
  type OrderLink,
  orderLinks,
  recordOrdersPushed,
  saveSubOrderLinks,
  subOrderLinksOf,
  withLocks,
} from '../warehouse/links.ts';
import { type Applied, applyDiff, nothingApplied, pendingLinks } from './apply-diff.ts';
import { diffSubOrders, type LineLink, type SubOrderDiff } from './diff-sub-orders.ts';
import { type Intent, type IntentDeps, intentOf, isUnchanged } from './order-intent.ts';
import type { PreparedOrder } from './prepare-order.ts';
import { removeOrder } from './remove-order.ts';

export type PushDeps = IntentDeps & {
  api: Pick<ReviewApi, 'orders' | 'subOrders'>;
  db: Db;
  log: Logger;
  signal: AbortSignal;
  /** The orders of these codes as they are in the shop at this moment. */
  readAgain(codes: readonly string[]): Promise<PreparedOrder[]>;
};

/** One order on its way, through as many rounds as answers are lost. */
type Passage = {
  intent: Intent;
  orderId: number | null;
  lostAnswers: number;
  /** Lines that the service refused: not tried again in this run. */
  refusedLines: Set<string>;
  refusal?: NewDeadLetter;
};

/** A lost answer is cleared up by reading the order again; the service may lose that one too. */
const lostAnswersAtMost = 5;

/**
 * Brings orders at the service in line with the shop: `POST /v1/orders`, then their sub-orders (spec, "Orders" and
 * "Sub-orders"). Bears being run twice, at once or after a crash at any point. Orders go side by side and what is
 * remembered of them is written for all at once: a statement for each would take longer than its request.
 *
 * @param readAt the warehouse's clock just before the orders were read from the shop.
 * @throws the client's errors, but for refusals, which become dead letters; what was done before is remembered.
 */
export async function pushOrders(deps: PushDeps, orders: readonly PreparedOrder[], readAt: Date): Promise<Counts> {
  const codes = orders.map((one) => one.order.code);
  return withLocks(deps.db, codes, async (db) => {
    const locked = { ...deps, db };
    const links = await orderLinks(db, codes);
    const current = await newest(locked, orders, links, readAt);
    const changed = current.filter((one) => !isUnchanged(deps, one, links.get(one.order.code)));
    const counts: Counts[] = [{ orders_unchanged: orders.length - changed.length }];
    for (const one of changed.filter(({ order }) => order.deletedAt)) {
      counts.push(await removeOrder(locked, one, links.get(one.order.code)));
    }
    const alive = changed.filter(({ order }) => !order.deletedAt);
    counts.push(await upsertOrders(locked, alive, links));
    return addCounts(counts);
  });
}

/** Whoever pushed an order since we read it may have read it later than we did: then it is read again. */
async function newest(
  deps: PushDeps,
  orders: readonly PreparedOrder[],
  links: ReadonlyMap<string, OrderLink>,
  readAt: Date,
): Promise<PreparedOrder[]> {
  const isStale = ({ order }: PreparedOrder) => (links.get(order.code)?.pushedAt?.getTime() ?? 0) >= readAt.getTime();
  const stale = orders.filter(isStale).map((one) => one.order.code);
  if (stale.length === 0) return [...orders];
  return [...orders.filter((one) => !isStale(one)), ...(await deps.readAgain(stale))];
}

async function upsertOrders(
  deps: PushDeps,
  orders: readonly PreparedOrder[],
  links: ReadonlyMap<string, OrderLink>,
): Promise<Counts> {
  const intents = orders.map((one) => intentOf(deps, one, links.get(one.order.code)));
  const undecided = intents.filter((one) => links.get(one.prepared.order.code)?.withContact !== one.withContact);
  await decideContact(
    deps.db,
    undecided.map((one) => ({ order_code: one.prepared.order.code, with_contact: one.withContact })),
  );
  const counts: Counts[] = [];
  let going: Passage[] = intents.map((intent) => ({
    intent,
    orderId: links.get(intent.prepared.order.code)?.orderId ?? null,
    lostAnswers: 0,
    refusedLines: new Set(),
  }));
  while (going.length > 0) going = await round(deps, going, counts);
  return addCounts(counts);
}

/** One upsert and one difference for each order. Gives those whose answer was lost, to be gone through again. */
async function round(deps: PushDeps, going: readonly Passage[], counts: Counts[]): Promise<Passage[]> {
  const details = await settle(going, (passage) => upsert(deps, passage));
  const known = await subOrderLinksOf(
    deps.db,
    going.map((passage) => passage.intent.prepared.order.code),
  );
  const work = details.done.flatMap(([passage, detail]) => {
    if (detail === undefined) return [];
    const diff = difference(passage, detail, (known.get(detail.code) ?? []) as LineLink[]);
    return [{ passage, detail, diff, idsBefore: detail.sub_orders.map((one) => one.id), applied: nothingApplied() }];
  });
  await forgetSubOrderLinks(
    deps.db,
    work.flatMap(({ detail, diff }) => diff.forget.map((line) => ({ order_code: detail.code, line_code: line }))),
  );
  // Written down before anything is added; see pendingLinks.
  await saveSubOrderLinks(
    deps.db,
    work.flatMap(({ detail, diff, idsBefore }) => {
      const found = diff.link.map((line) => ({ ...line, idsBefore: line.idsBefore && [...line.idsBefore] }));
      return [...found, ...pendingLinks(diff, idsBefore)].map((link) => ({ orderCode: detail.code, ...link }));
    }),
  );
  const sent = await settle(work, ({ detail, diff, idsBefore, applied }) =>
    applyDiff(deps, detail, diff, idsBefore, applied),
  );
  for (const one of work) {
    counts.push(one.applied.counts);
    for (const letter of one.applied.letters) one.passage.refusedLines.add(letter.key);
  }
  await remember(deps.db, work);

  const again: Passage[] = [];
  const failures = [...details.failed.map(([, error]) => error)];
  for (const [{ passage }, error] of sent.failed) {
    passage.lostAnswers += 1;
    if (error instanceof UnknownOutcomeError && passage.lostAnswers <= lostAnswersAtMost) again.push(passage);
    else failures.push(error);
  }
  const refused = details.done.flatMap(([passage, detail]) => (detail === undefined ? [passage] : []));
  counts.push(await conclude(deps, [...refused, ...sent.done.map(([{ passage }]) => passage)]));
  if (failures.length > 0) throw failures[0];
  return again;
}

/** The order as it is at the service now, or undefined where the service refuses it. */
async function upsert(deps: PushDeps, passage: Passage): Promise<OrderDetail | undefined> {
  deps.signal.throwIfAborted();
  try {
    const detail = await deps.api.orders.upsert(passage.intent.body);
    passage.orderId = detail.id;
    // Links are kept under the shop's code, however the service writes it back.
    return { ...detail, code: passage.intent.prepared.order.code };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const { order, lines } = passage.intent.prepared;
    passage.refusal = { kind: 'order', key: order.code, reason: error.message, payload: { order, lines } };
    return undefined;
  }
}

function difference(passage: Passage, detail: OrderDetail, links: readonly LineLink[]): SubOrderDiff {
  const { order, lines, held } = passage.intent.prepared;
  const refused = lines.filter((line) => passage.refusedLines.has(`${order.code}/${line.lineCode}`));
  const untouched = new Set([...held, ...refused].map((line) => line.lineCode));
  const wanted = lines.filter((line) => !untouched.has(line.lineCode));
  return diffSubOrders(detail.sub_orders, wanted, links, untouched);
}

type Work = { detail: OrderDetail; applied: Applied };

async function remember(db: Db, work: readonly Work[]): Promise<void> {
  const of = <T, R>(pick: (applied: Applied) => readonly T[], make: (code: string, one: T) => R) =>
    work.flatMap(({ detail, applied }) => pick(applied).map((one) => make(detail.code, one)));
  await forgetSubOrderLinks(
    db,
    of(
      (applied) => applied.forget,
      (order_code, line_code) => ({ order_code, line_code }),
    ),
  );
  await saveSubOrderLinks(
    db,
    of(
      (applied) => applied.links,
      (orderCode, link) => ({ orderCode, ...link }),
    ),
  );
  for (const { applied } of work) for (const letter of applied.letters) await putDeadLetter(db, letter);
}

/** Letters first, then the hash that makes the order unchanged: never ahead of what it stands for. */
async function conclude(deps: PushDeps, passages: readonly Passage[]): Promise<Counts> {
  const counts = { orders_pushed: 0, orders_refused: 0, lines_waiting: 0 };
  for (const { refusal, intent } of passages) {
    if (refusal) await putDeadLetter(deps.db, refusal);
    for (const { lineCode: _, ...letter } of intent.prepared.held) await putDeadLetter(deps.db, letter);
    counts[refusal ? 'orders_refused' : 'orders_pushed'] += 1;
    counts.lines_waiting += intent.prepared.held.length;
  }
  const failingLines = passages.flatMap((one) => [
    ...one.refusedLines,
    ...one.intent.prepared.held.map((letter) => letter.key),
  ]);
  const accepted = passages.filter((one) => !one.refusal);
  await resolveOrderLetters(
    deps.db,
    accepted.map((one) => one.intent.prepared.order.code),
    failingLines,
  );
  await recordOrdersPushed(
    deps.db,
    passages.map(({ intent, orderId }) => ({
      order_code: intent.prepared.order.code,
      order_id: orderId,
      fingerprint: intent.print,
      shop_updated_at: intent.prepared.order.updatedAt,
      ordered_at: intent.prepared.order.createdAt,
    })),
  );
  return counts;
}

/** Runs all side by side (the client bounds how many are in flight) and waits for all, whatever becomes of them. */
async function settle<T, R>(
  all: readonly T[],
  run: (one: T) => Promise<R>,
): Promise<{ done: [T, R][]; failed: [T, unknown][] }> {
  const done: [T, R][] = [];
  const failed: [T, unknown][] = [];
  await Promise.all(
    all.map((one) =>
      run(one).then(
        (result) => done.push([one, result]),
        (error) => failed.push([one, error]),
      ),
    ),
  );
  return { done, failed };
}
