import { maskedReason, type NewDeadLetter } from '../dead-letters.ts';
import type { LineLinkRow } from './order-links.ts';

/** Links to write, line codes of links to delete, and all creations whose sub-orders the service has not shown. */
export type LineChange = {
  lines: readonly LineLinkRow[];
  dropLinks: readonly string[];
  unseen: readonly LineLinkRow[];
};

/** What is to be removed by the last batch of the run: how many sub-orders, or 1 for the order; and whether it is held back. */
export type Removals = { wanted: number; isHeld: boolean };

/** The outcome of a push, recorded as a whole. */
export type PushRecord = LineChange & {
  orderId: number | null;
  fingerprint: string | null;
  contactHash: string | null;
  contactSent: boolean;
  sentFields: readonly string[];
  failedPushes: number;
  /** When to push the order again although the shop did not change it; null: never. */
  retryAfterMs: number | null;
  /** Undefined: the push did not learn what is to be removed, and what is held back stays so. */
  removals: Removals | undefined;
  /** The run that took note of `removals`. */
  removalsRun: string | undefined;
  linesUnsure: boolean;
  userGradeCode: string | undefined;
  userGradeId: number | undefined;
  /** The shop's text. */
  shopUpdatedAt: string | null;
  orderedAt: Date;
  /** Lines that wait for a product id. */
  waiting: readonly { lineCode: string; productCode: string }[];
  deadLetters: readonly NewDeadLetter[];
};

/** The columns of `drop_links`, `lines` and `unseen_creations` in save_order_lines.sql and record_orders.sql. */
export function lineColumns({ lines, dropLinks, unseen }: LineChange) {
  return {
    lines: lines.map(({ lineCode, subOrderId, content, idsBefore }) => ({
      line_code: lineCode,
      sub_order_id: subOrderId,
      content,
      ids_before: idsBefore,
    })),
    drop_links: dropLinks,
    unseen_creations: unseen,
  };
}

/** The columns of one order in record_orders.sql. */
export function recordColumns(push: PushRecord) {
  return {
    ...lineColumns(push),
    order_id: push.orderId,
    fingerprint: push.fingerprint,
    contact_hash: push.contactHash,
    contact_sent: push.contactSent,
    sent_fields: push.sentFields,
    failed_pushes: push.failedPushes,
    retry_after_ms: push.retryAfterMs,
    removals_wanted: push.removals?.wanted ?? null,
    removals_held: push.removals?.isHeld ?? false,
    removals_run: push.removalsRun,
    lines_unsure: push.linesUnsure,
    user_grade_code: push.userGradeCode,
    user_grade_id: push.userGradeId,
    shop_updated_at: push.shopUpdatedAt,
    ordered_at: push.orderedAt,
    waiting: push.waiting.map(({ lineCode, productCode }) => ({ line_code: lineCode, product_code: productCode })),
    dead_letters: push.deadLetters.map(({ partOf, ...deadLetter }) => ({
      ...deadLetter,
      reason: maskedReason({ ...deadLetter, partOf }),
    })),
  };
}
