import { describeError } from '../../base/errors.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import { isErrorOfTheData } from '../../warehouse/index.ts';
import type { LeasedOrder, PushRecord } from '../../warehouse/orders/order-store.ts';
import { type FailureKind, retryDelayMs } from '../limits.ts';
import { type DesiredOrder, lineKey } from '../plan/desired-order.ts';

/** The next step where removals are held back. */
export const toAllow = 'If that is right, run: review-sync sync orders --allow-removals';

/** What could not be done; `lineCode` undefined: of the order as a whole. `held`: removals that were not allowed. */
export type PushFailure = { lineCode?: string; reason: string; failure: FailureKind; held?: number };

/** What to record of a push that the service did not accept; bringInLine adds what an accepted one brought. */
export function pushRecord(
  { link, lines }: LeasedOrder,
  desired: DesiredOrder,
  failures: readonly PushFailure[],
): PushRecord {
  const { order, body } = desired;
  // Of an order that the shop has deleted nobody will correct a line, or wait for its product.
  const { waiting, faulty } = order.deletedAt ? { waiting: [], faulty: [] } : desired;
  const kinds: FailureKind[] = [...failures.map(({ failure }) => failure), ...faulty.map(() => 'transient' as const)];
  const failedPushes = kinds.length === 0 ? 0 : link.fingerprint === desired.fingerprint ? link.failedPushes + 1 : 1;
  const kind = kinds.includes('transient') ? 'transient' : 'permanent';
  return {
    orderId: link.orderId,
    fingerprint: desired.fingerprint,
    sentFields: link.sentFields,
    failedPushes,
    dueAfterMs: failedPushes === 0 ? null : retryDelayMs(kind, failedPushes),
    userGradeCode: order.userGradeCode,
    userGradeId: body.user_grade_id ?? undefined,
    orderedAt: order.createdAt,
    lines,
    waiting,
    deadLetters: deadLettersOf({ ...desired, faulty }, failures),
  };
}

/** One dead letter for the order as a whole, and one for each line: several requests about it may fail. */
function deadLettersOf({ code, raw: { order }, lines, faulty }: DesiredOrder, failures: readonly PushFailure[]) {
  const deadLetters = faulty.map(({ lineCode: _, ...one }): NewDeadLetter => ({ ...one, partOf: order }));
  for (const [lineCode, some] of Map.groupBy(failures, (one) => one.lineCode)) {
    const reason = [...new Set(some.map((one) => one.reason))].join('; ');
    if (lineCode === undefined) {
      const removals_held = some.find(({ held }) => held !== undefined)?.held;
      deadLetters.push({
        kind: 'order',
        key: code,
        orderCode: code,
        reason,
        payload: { order, lines, removals_held },
      });
    } else if (!faulty.some((one) => one.lineCode === lineCode)) {
      const content = lines.find((line) => line.lineCode === lineCode)?.content;
      const payload = { order_code: code, line_code: lineCode, content };
      const key = lineKey(code, lineCode);
      deadLetters.push({ kind: 'order_line', key, orderCode: code, reason, payload, partOf: order });
    }
  }
  return deadLetters;
}

/**
 * Whether the error is this order's alone: a value that the warehouse refuses, or an error of this program, such as an
 * argument that the client refuses. The other orders go on.
 */
export const isOfThisOrder = (error: unknown): error is Error =>
  isErrorOfTheData(error) || error instanceof TypeError || error instanceof RangeError;

/** What to record of such an order: nothing of its values, which may be what the warehouse refuses. */
export function errorRecord(leased: LeasedOrder, desired: DesiredOrder, error: Error): PushRecord {
  const { code } = desired;
  // The database's message may quote the value.
  const what = isErrorOfTheData(error) ? 'the warehouse refuses one of its values' : describeError(error);
  const reason = `the order cannot be sent or recorded: ${what}`;
  const bare: DesiredOrder = { ...desired, lines: [], waiting: [], faulty: [] };
  return {
    ...pushRecord(leased, bare, [{ reason, failure: 'permanent' }]),
    orderedAt: null,
    userGradeCode: undefined,
    deadLetters: [{ kind: 'order', key: code, orderCode: code, reason, payload: { order: { code } } }],
  };
}
