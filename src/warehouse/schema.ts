import type { ColumnType, Generated } from 'kysely';

export type RunOutcome = 'done' | 'incomplete' | 'failed' | 'abandoned';

/** Why a run is incomplete. Where several reasons apply, the first of this list. */
export type RunReason = 'steps-failed' | 'problem' | 'dead-letters';

export type Axis = 'created' | 'updated';

export type DeadLetterKind = 'order' | 'order_line' | 'category' | 'user_grade' | 'review' | 'webhook';

/**
 * Tables of queries that Kysely builds, with the columns that these name. Other queries are SQL; sql/warehouse/ explains
 * each column.
 */
export type Database = {
  'sync.export_windows': { run_id: string; reviews: number; requests: number };
  'sync.dead_letters': DeadLetters;
  'sync.order_links': OrderLinks;
  'sync.sub_order_links': SubOrderLinks;
  'sync.product_links': { product_code: string; product_id: number };
  'sync.user_grade_links': { user_grade_code: string; user_grade_id: number };
  'warehouse.review_overview': ReviewOverview;
};

type DeadLetters = {
  id: Generated<number>;
  kind: DeadLetterKind;
  key: string;
  reason: string;
  payload: unknown;
  attempts: number;
  first_failed_at: Date;
  last_failed_at: Date;
  resolved_at: Date | null;
  order_code: string | null;
};

type OrderLinks = {
  order_code: string;
  order_id: number | null;
  fingerprint: string | null;
  due_at: Date | null;
  lease_owner: string | null;
  lease_expires_at: Date | null;
};

type SubOrderLinks = {
  order_code: string;
  line_code: string;
  sub_order_id: number | null;
  content: unknown;
  is_ours: boolean;
  ids_before: number[] | null;
  linked_at: Date;
};

type ReviewOverview = {
  captured_at: Date;
  first_review_created_at: ColumnType<Date | null, string | null>;
  last_review_created_at: ColumnType<Date | null, string | null>;
};
