import type { Counts } from '../counts.ts';
import type { Logger } from '../log.ts';
import { type OrderDetail, RefusedError, type ReviewApi, UnknownOutcomeError } from '../review-api/index.ts';
import { putDeadLetter, resolveOrderLetters } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import {
  decideContact,
  forgetSubOrderLinks,
  type OrderLink,
  orderLinks,
  recordOrderPushed,
  saveSubOrderLink,
  subOrderLinks,
  withOrderLock,
} from '../warehouse/links.ts';
import { type ContactPolicy, mayCarryContact } from './contact-rule.ts';
import { diffSubOrders, type Line, type LineLink, type SubOrderDiff } from './diff-sub-orders.ts';
import { fingerprint } from './fingerprint.ts';
import { orderBody } from './order-body.ts';
import { lineKey, type PreparedOrder } from './prepare-order.ts';

export type PushDeps = {
  api: Pick<ReviewApi, 'orders' | 'subOrders'>;
  db: Db;
  log: Logger;
  now: () => Date;
  /** The service's ids of the shop's member grades. */
  gradeIds: ReadonlyMap<string, number>;
  contactMaxAgeDays: number;
  contactPolicy: ContactPolicy;
  deletes: 'off' | 'send';
};

/** What decides how an order looks to the service. */
export type IntentDeps = Omit<PushDeps, 'api' | 'db' | 'log'>;

/** What an order looks like to the service now, and the hash by which an unchanged one is known. */
type Intent = { prepared: PreparedOrder; withContact: boolean; body: ReturnType<typeof orderBody>; print: string };

/** A lost answer is cleared up by reading the order again; the service may lose that one too. */
const lostAnswersAtMost = 5;

/** True when the order stands at the service as it is in the shop: then it costs no request. */
export function isUnchanged(deps: IntentDeps, prepared: PreparedOrder, link: OrderLink | undefined): boolean {
  return link !== undefined && link.fingerprint === intentOf(deps, prepared, link).print;
}

/**
 * Brings one order at the service in line with the shop: `POST /v1/orders`, then its sub-orders (spec, "Orders" and
 * "Sub-orders"). Bears being run twice, at once or after a crash at any point.
 *
 * What the service refuses becomes a dead letter; all other errors of the client are thrown.
 */
export function pushOrder(deps: PushDeps, prepared: PreparedOrder): Promise<Counts> {
  const { code } = prepared.order;
  return withOrderLock(deps.db, code, async (db) => {
    const locked = { ...deps, db };
    const link = (await orderLinks(db, [code])).get(code);
    if (link?.shopUpdatedAt && isOlder(prepared.order.updatedAt, link.shopUpdatedAt)) return { orders_older: 1 };
    if (isUnchanged(deps, prepared, link)) return { orders_unchanged: 1 };
    if (prepared.order.deletedAt) return removeOrder(locked, prepared, link);
    return upsertOrder(locked, intentOf(deps, prepared, link), link);
  });
}

function intentOf(deps: IntentDeps, prepared: PreparedOrder, link: OrderLink | undefined): Intent {
  const { order, lines, held } = prepared;
  const withContact = mayCarryContact({
    decided: link?.withContact,
    createdAt: order.createdAt,
    now: deps.now(),
    maxAgeDays: deps.contactMaxAgeDays,
    policy: deps.contactPolicy,
  });
  const userGradeId = order.userGradeCode === undefined ? undefined : deps.gradeIds.get(order.userGradeCode);
  const body = orderBody(order, { withContact, userGradeId });
  const waiting = held.map((line) => line.key);
  const print = order.deletedAt
    ? fingerprint({ deleted: true, deletes: deps.deletes })
    : fingerprint({ body, lines, waiting });
  return { prepared, withContact, body, print };
}

/** Both are texts of one form, in UTC with microseconds where there are any. */
function isOlder(one: string, other: string): boolean {
  const comparable = (text: string) => text.replace(/\+00$/, '').replace('T', ' ');
  const [a, b] = [comparable(one), comparable(other)];
  const pad = (text: string) => (text.includes('.') ? text.padEnd(26, '0') : `${text}.000000`);
  return pad(a) < pad(b);
}

async function upsertOrder(deps: PushDeps, intent: Intent, link: OrderLink | undefined): Promise<Counts> {
  const { prepared, print } = intent;
  const { code } = prepared.order;
  const counts: Counts = { orders_pushed: 1 };
  const refused = new Set<string>();
  if (link?.withContact !== intent.withContact) await decideContact(deps.db, code, intent.withContact);

  let orderId = link?.orderId ?? null;
  try {
    orderId = await converge(deps, intent, counts, refused);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    await putDeadLetter(deps.db, { kind: 'order', key: code, reason: error.message, payload: payloadOf(prepared) });
    counts.orders_refused = 1;
    counts.orders_pushed = 0;
  }
  for (const { lineCode: _, ...letter } of prepared.held) await putDeadLetter(deps.db, letter);
  counts.lines_waiting = prepared.held.length;
  const failing = [...refused, ...prepared.held.map((letter) => letter.key)];
  await resolveOrderLetters(deps.db, code, { order: counts.orders_refused !== 1, linesExcept: failing });
  await recordOrderPushed(deps.db, {
    orderCode: code,
    orderId,
    fingerprint: print,
    shopUpdatedAt: prepared.order.updatedAt,
  });
  return counts;
}

/** Upserts and applies the difference, from the start again while answers are lost: the order's detail is the truth. */
async function converge(deps: PushDeps, intent: Intent, counts: Counts, refused: Set<string>): Promise<number> {
  for (let lost = 0; ; lost += 1) {
    const detail = await deps.api.orders.upsert(intent.body);
    const links = (await subOrderLinks(deps.db, intent.prepared.order.code)) as LineLink[];
    const untouched = new Set([...intent.prepared.held.map((line) => line.lineCode), ...refusedLines(refused)]);
    const lines = intent.prepared.lines.filter((line) => !untouched.has(line.lineCode));
    const diff = diffSubOrders(detail.sub_orders, lines, links, untouched);
    try {
      await applyDiff(deps, detail, diff, counts, refused);
      return detail.id;
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError) || lost >= lostAnswersAtMost) throw error;
      deps.log.info({ order: intent.prepared.order.code }, 'an answer was lost; reading the order again');
    }
  }
}

const refusedLines = (keys: ReadonlySet<string>) => [...keys].map((key) => key.slice(key.indexOf('/') + 1));

async function applyDiff(
  deps: PushDeps,
  detail: OrderDetail,
  diff: SubOrderDiff,
  counts: Counts,
  refused: Set<string>,
): Promise<void> {
  const { db, api, log } = deps;
  const save = (line: Line, subOrderId: number | null, idsBefore: readonly number[] | null) =>
    saveSubOrderLink(db, detail.code, {
      lineCode: line.lineCode,
      content: line.content,
      subOrderId,
      idsBefore: idsBefore && [...idsBefore],
    });
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  const unlessRefused = async (line: Line, write: () => Promise<void>) => {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const key = lineKey(detail.code, line.lineCode);
      refused.add(key);
      await putDeadLetter(db, {
        kind: 'order_line',
        key,
        reason: error.message,
        payload: { order_code: detail.code, ...line },
      });
      count('lines_refused');
    }
  };

  await forgetSubOrderLinks(db, detail.code, diff.forget);
  for (const line of diff.link) await save(line, line.subOrderId, line.idsBefore);
  for (const line of diff.change) {
    await unlessRefused(line, async () => {
      await api.subOrders.update(detail.id, line.subOrderId, line.patch);
      await save(line, line.subOrderId, line.idsBefore);
      count('sub_orders_changed');
    });
  }
  for (const { lineCode, subOrderId } of diff.remove) {
    await api.subOrders.remove(detail.id, subOrderId);
    await forgetSubOrderLinks(db, detail.code, [lineCode]);
    log.info({ order: detail.code, line: lineCode, subOrderId }, 'removed the sub-order of a line that is gone');
    count('sub_orders_removed');
  }
  for (const { lineCode, subOrderId, why } of diff.spared) {
    log.warn({ order: detail.code, line: lineCode, subOrderId, why }, 'kept the sub-order of a line that is gone');
    count('sub_orders_spared');
  }
  const idsBefore = new Set(detail.sub_orders.map((subOrder) => subOrder.id));
  for (const line of diff.add) {
    await unlessRefused(line, async () => {
      // Written down first: should the answer be lost, the new sub-order is the one that was not there before.
      await save(line, null, [...idsBefore]);
      const { id } = await api.subOrders.create(detail.id, line.content);
      await save(line, id, [...idsBefore]);
      idsBefore.add(id);
      count('sub_orders_added');
    });
  }
}

/** Promise 6: nothing is destroyed unasked, and never customers' reviews. */
async function removeOrder(deps: PushDeps, prepared: PreparedOrder, link: OrderLink | undefined): Promise<Counts> {
  const { code, updatedAt } = prepared.order;
  if (!link?.orderId) return { orders_deleted_unpushed: 1 };
  if (deps.deletes === 'off') return { orders_deleted_kept: 1 };
  const detail = await deps.api.orders.get(link.orderId);
  if (detail.code !== code || detail.sub_orders.some((subOrder) => subOrder.reviews_count !== 0)) {
    deps.log.warn({ order: code }, 'the shop deleted the order, but it has reviews: it stays at the service');
    return { orders_deleted_kept: 1 };
  }
  await deps.api.orders.remove(link.orderId);
  deps.log.info({ order: code, orderId: link.orderId }, 'deleted the order at the service, as the shop did');
  const lines = await subOrderLinks(deps.db, code);
  await forgetSubOrderLinks(
    deps.db,
    code,
    lines.map((line) => line.lineCode),
  );
  const { print } = intentOf(deps, prepared, link);
  await recordOrderPushed(deps.db, { orderCode: code, orderId: null, fingerprint: print, shopUpdatedAt: updatedAt });
  return { orders_deleted: 1 };
}

/** The order as it would be sent; it stays in the database and reaches no log. */
const payloadOf = (prepared: PreparedOrder) => ({ order: prepared.order, lines: prepared.lines });
