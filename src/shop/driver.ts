import type { RawRow } from './rows.ts';
import type { SqlDialect } from './sql-text.ts';

export type ColumnType = Readonly<{
  /** As a cast names it. */
  type: string;
  /** How its values become text. A local date is without zone, in SHOP_TIME_ZONE. */
  read: 'text' | 'instant' | 'local date';
}>;

/** A column as the database describes it: name of the type, and how to read it. */
export type FoundColumn = Readonly<{ name: string; typeName: string }> & ColumnType;

/** What `session.ts` needs to know about a kind of database. Returned texts are SQL. */
export type SqlWords = {
  dialect: SqlDialect;
  /** The start of a statement over a shop query: `<select> … from (…) w`. */
  select: string;
  /** A key as a literal of the column's type. Undefined: the type cannot hold the key, so no row has it. */
  keyLiteral(type: string, key: string): string | undefined;
  /** A condition: `w.code` is present, not blank, and can be stored. Never null. */
  hasCode(type: string): string;
  /** The position of the column's value in a list of literals, from 1. */
  placeIn(column: string, list: string): string;
  bytesOf(column: string): string;
  /** An expression for a text that `read` reads. */
  shown(column: ColumnType, value: string): string;
  /** A shown value as `RawRow` has it. A date without zone is the local date, without `Z`. */
  read(column: ColumnType, text: string): string | null;
  /** Compares the raw column, so that an index serves. @param at an instant, or a local date if the column is one. */
  compare(column: ColumnType, value: string, operator: '>=' | '>' | '<', at: string): string;
  /** The date in place of `:since` in changed_orders.sql: never later than `at`. */
  since(read: ColumnType['read'], at: string): string;
  /** The clock, as a local date in UTC. */
  utcNow: string;
  /** Whether a statement was cancelled, as happens after `statementSeconds`. */
  isTimeout(error: unknown): boolean;
  /** Whether another session holds a lock that a statement waited for. */
  isLocked(error: unknown): boolean;
  /** Whether a standby cancelled a statement because of a change on its primary. */
  isConflict(error: unknown): boolean;
  /** The SQLSTATE of an error that a row's data caused. Undefined: another cause. */
  dataFaultOf(error: unknown): string | undefined;
  /** The line of the query, from 1, at which `describe` found a mistake; undefined if the database does not say. */
  lineOf(error: unknown, body: string): number | undefined;
};

/** A connection within one read-only transaction with one snapshot. */
export type DriverConnection = {
  /** Begins the transaction. A shorter time limit of the database or its user stays. */
  begin(seconds: number): Promise<unknown>;
  /** Every value is the database's own text, so that nothing is rounded or converted. */
  run(statement: string): Promise<RawRow[]>;
  /** The columns of a SELECT in brackets. */
  describe(body: string): Promise<FoundColumn[]>;
  facts(): Promise<ShopFacts>;
  /** Which large tables the statement reads as a whole. */
  explain(statement: string): Promise<StatementPlan>;
  /** Fails the statement in flight at once. */
  stop(): void;
  /** Gives the connection back, or closes it if it is broken. */
  release(isBroken: boolean): void;
};

/** One kind of shop database. */
export type Driver = {
  connect(): Promise<DriverConnection>;
  close(): Promise<void>;
};

/** `unexplained`: why the database does not say which tables a statement reads; `scans` is then empty. */
export type StatementPlan = { scans: FullScan[]; unexplained?: string };

/** A table that a statement reads as a whole because no index serves. */
export type FullScan = {
  /** The name as written in SQL. */
  table: string;
  /** From the database's statistics; undefined if the table was never analyzed. */
  rows: number | undefined;
  /** The remedy, one clause. */
  remedy: string;
};

/** Facts about the shop's database and our rights in it. */
export type ShopFacts = {
  product: 'Postgres' | 'MySQL' | 'MariaDB';
  version: string;
  user: string;
  isSuperuser: boolean;
  /** Tables that the user may write to, which review-sync never does, and some of their names. */
  writable: number;
  examples: string[];
  /** Schemas of the search path that let every role create functions. */
  openSchemas: string[];
  /** Tables with an engine without transactions (MyISAM): two reads of one transaction may see two states. */
  withoutSnapshot: string[];
};
