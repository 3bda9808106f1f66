import type { RawRow } from './rows.ts';
import type { SqlDialect } from './sql-text.ts';

export type ColumnType = Readonly<{
  /** As a cast names it. */
  type: string;
  /** How its values become text. A local date has no zone: it is in SHOP_TIME_ZONE. */
  read: 'text' | 'instant' | 'local date';
}>;

/** A column as the database describes it: name of the type, and how to read it. */
export type FoundColumn = Readonly<{ name: string; typeName: string }> & ColumnType;

/** What `session.ts` needs to know of a kind of database. Texts that it gives are SQL. */
export type SqlWords = {
  dialect: SqlDialect;
  /** How a statement over a query of the shop begins: `<select> … from (…) w`. */
  select: string;
  /** A value of a key as a literal of the column's type; undefined if the type cannot hold it: no row has it. */
  keyLiteral(type: string, key: string): string | undefined;
  /** That `w.code` is there, is not blank, and can be stored. Never null. */
  hasCode(type: string): string;
  /** Place of the column's value in a list of literals, from 1. */
  placeIn(column: string, list: string): string;
  bytesOf(column: string): string;
  /** An expression whose text `read` reads. */
  shown(column: ColumnType, value: string): string;
  /** A shown value as `RawRow` has it; of a date without zone the local date, without `Z`. */
  read(column: ColumnType, text: string): string | null;
  /** Compares the raw column, so that an index serves. @param at an instant, or a local date if the column is one. */
  compare(column: ColumnType, value: string, operator: '>=' | '>' | '<', at: string): string;
  /** The date in place of `:since` in changed_orders.sql: never later than `at`. */
  since(read: ColumnType['read'], at: string): string;
  /** The clock, as a local date in UTC. */
  utcNow: string;
  /** Whether a statement was cancelled, as it is after `statementSeconds`. */
  isTimeout(error: unknown): boolean;
  /** Whether another session holds a lock that a statement waited for. */
  isLocked(error: unknown): boolean;
  /** Whether a standby cancelled a statement for what its primary has changed meanwhile. */
  isConflict(error: unknown): boolean;
  /** The SQLSTATE of an error that the data of a row caused; undefined: it has another cause. */
  dataFaultOf(error: unknown): string | undefined;
  /** The line of the query, from 1, at which `describe` found a mistake; undefined if the database does not say. */
  lineOf(error: unknown, body: string): number | undefined;
};

/** A connection within one read-only transaction that sees one moment. */
export type DriverConnection = {
  /** Begins the transaction. A shorter time limit of the database or its user holds. */
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
  /** As one writes it in SQL. */
  table: string;
  /** From the database's statistics; undefined if the table was never analyzed. */
  rows: number | undefined;
  /** What would help, one clause. */
  remedy: string;
};

/** What the shop's database says of itself and of our rights in it. */
export type ShopFacts = {
  product: 'Postgres' | 'MySQL' | 'MariaDB';
  version: string;
  user: string;
  isSuperuser: boolean;
  /** Tables that the user may write to, which review-sync never does, and some of their names. */
  writable: number;
  examples: string[];
  /** Schemas of the search path in which every role may create functions. */
  openSchemas: string[];
  /** Tables whose engine has no transactions (MyISAM): two reads of one transaction may see two states. */
  withoutSnapshot: string[];
};
