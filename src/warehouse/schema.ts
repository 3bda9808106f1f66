import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/** The tables as Kysely sees them; sql/warehouse/ explains each column. Only what TypeScript touches is listed. */
export type Database = {
  'sync.cursors': Cursors;
  'sync.runs': Runs;
  'sync.export_windows': ExportWindows;
  'sync.dead_letters': DeadLetters;
  'sync.order_links': OrderLinks;
  'sync.sub_order_links': SubOrderLinks;
  'sync.product_links': ProductLinks;
  'sync.user_grade_links': UserGradeLinks;
  'sync.category_links': CategoryLinks;
  'warehouse.reviews': Reviews;
  'warehouse.review_overview': ReviewOverview;
};

/** Written as a Date or by the database's clock. */
type Moment = ColumnType<Date, Date | undefined, Date>;
type Json = JSONColumnType<Record<string, unknown>>;

type Cursors = { flow: 'orders' | 'reviews'; position: Json; updated_at: Moment };

export type RunOutcome = 'done' | 'incomplete' | 'failed' | 'abandoned';

type Runs = {
  id: string;
  job: string;
  trigger: 'schedule' | 'command';
  started_at: Date;
  finished_at: ColumnType<Date | null, undefined, Date>;
  outcome: ColumnType<RunOutcome | null, undefined, RunOutcome>;
  counts: ColumnType<Record<string, number>, undefined, string>;
  error: ColumnType<string | null, undefined, string | null>;
};

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
};

type OrderLinks = {
  order_code: string;
  order_id: number | null;
  with_contact: boolean;
  fingerprint: string | null;
  shop_updated_at: ColumnType<Date | null, string | null | undefined, string | null>;
  first_pushed_at: Moment;
  pushed_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
};

type SubOrderLinks = {
  order_code: string;
  line_code: string;
  sub_order_id: number | null;
  content: ColumnType<unknown, string, string>;
  ids_before: ColumnType<number[] | null, string | null, string | null>;
  linked_at: Moment;
};

type ProductLinks = { product_code: string; product_id: number; linked_at: Moment };
type UserGradeLinks = { user_grade_code: string; user_grade_id: number; fingerprint: string; linked_at: Moment };
type CategoryLinks = { category_code: string; category_id: number; fingerprint: string; linked_at: Moment };

type Reviews = { id: number; created_at: Date; updated_at: Date; deleted_at: Date | null };

type ReviewOverview = {
  captured_at: Date;
  first_review_created_at: Date | string | null;
  last_review_created_at: Date | string | null;
};
