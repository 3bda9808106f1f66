import type { ColumnType, Generated } from 'kysely';
import type { ContactDecision } from './orders/order-links.ts';

/** The tables as Kysely sees them; sql/warehouse/ explains each column. Only what TypeScript touches is listed. */
export type Database = {
  'sync.export_windows': ExportWindows;
  'sync.dead_letters': DeadLetters;
  'sync.order_links': OrderLinks;
  'sync.sub_order_links': SubOrderLinks;
  'sync.product_links': ProductLinks;
  'sync.user_grade_links': UserGradeLinks;
  'sync.category_links': CategoryLinks;
  'warehouse.review_overview': ReviewOverview;
};

/** Written as a Date or by the database's clock. */
type Moment = ColumnType<Date, Date | undefined, Date>;

export type RunOutcome = 'done' | 'incomplete' | 'failed' | 'abandoned';

/** Why a run is incomplete. Where several reasons apply, the first of this list. */
export type RunReason = 'steps-failed' | 'problem' | 'dead-letters';

export type Axis = 'created' | 'updated';

type ExportWindows = {
  id: Generated<number>;
  run_id: string;
  axis: Axis;
  start_at: Date;
  end_at: Date;
  pages: number;
  reviews: number;
  requests: number;
  started_at: Date;
  finished_at: Date;
};

export type DeadLetterKind = 'order' | 'order_line' | 'category' | 'user_grade' | 'review' | 'webhook';

type DeadLetters = {
  id: Generated<number>;
  kind: DeadLetterKind;
  key: string;
  reason: string;
  payload: ColumnType<unknown, string, string>;
  attempts: Generated<number>;
  first_failed_at: Moment;
  last_failed_at: Moment;
  resolved_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  order_code: string | null;
  checked_at: Moment;
  discarded_hash: string | null;
};

type OrderLinks = {
  order_code: string;
  order_id: number | null;
  ordered_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  fingerprint: string | null;
  contact: ContactDecision;
  sent_fields: Generated<string[]>;
  user_grade_code: string | null;
  user_grade_id: number | null;
  pushed_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  failed_pushes: Generated<number>;
  due_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  absent_since: ColumnType<Date | null, Date | null | undefined, Date | null>;
  lease_owner: string | null;
  lease_expires_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

type SubOrderLinks = {
  order_code: string;
  line_code: string;
  sub_order_id: number | null;
  content: ColumnType<unknown, string, string>;
  is_ours: boolean;
  ids_before: ColumnType<number[] | null, string | null, string | null>;
  linked_at: Moment;
};

type ProductLinks = { product_code: string; product_id: number; linked_at: Moment };
type UserGradeLinks = { user_grade_code: string; user_grade_id: number; fingerprint: string; linked_at: Moment };
type CategoryLinks = { category_code: string; category_id: number; fingerprint: string; linked_at: Moment };

type ReviewOverview = {
  captured_at: Date;
  first_review_created_at: Date | string | null;
  last_review_created_at: Date | string | null;
};
