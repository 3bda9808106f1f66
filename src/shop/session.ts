import type { QueryName } from './contract.ts';
import type { QueryCheck } from './queries.ts';
import type { RawRow } from './rows.ts';

/** A shop query that was checked against the contract. */
export type ShopQuery = Readonly<{
  name: QueryName;
  /**
   * The SELECT in brackets, to be used as `from ${body} w`. That of changed_orders.sql holds its parameter `:since` as
   * `QueryCheck.dateParameter` writes it for the type of changed_at.
   */
  body: string;
  /** The columns that the query selects, with what is needed to read and to compare them. */
  columns: ReadonlyMap<string, ColumnType>;
}>;

export type ColumnType = Readonly<{
  /** As a cast names it. */
  type: string;
  /** How its values become text. A local date has no zone: it is in SHOP_TIME_ZONE. */
  read: 'text' | 'instant' | 'local date';
}>;

/** An order and its date: ISO 8601 in UTC with microseconds; `year N` or `infinity` where the date has no such form. */
export type OrderKey = Readonly<{ at: string; code: string }>;

/** What orders are walked by: the last change, the creation, or the code alone. */
export type OrderAxis = 'updated' | 'created' | 'code';

/**
 * Where a page of a walk starts. `{ at: '-infinity', code: '' }` is the beginning; empty `code` starts with the first
 * order of that date. The other fields are set by the page before and only passed back; all are plain JSON.
 */
export type OrderPosition = OrderKey &
  Readonly<{
    /**
     * The date as the database writes it, where it has no zone: a skipped or repeated local hour has no exact instant.
     */
    local?: string;
    /** The walk goes on by code, because the date of some order cannot be computed. Empty: from the first code. */
    byCode?: string;
  }>;

/** One page of a walk: at most `size` orders after `after`, and before `before` (an instant, exclusive). */
export type OrderRange = Readonly<{ axis: OrderAxis; after: OrderPosition; before?: string; size: number }>;

/**
 * The orders of one page. `next`: where the next page starts; absent after the last page. `isByDate`: the page and all
 * pages before it hold every order of their dates, so that a cursor may move to the last key. It is false where the
 * walk goes by code: then only the end of the walk proves anything.
 */
export type OrderPage = { keys: OrderKey[]; next?: OrderPosition; isByDate: boolean };

/** What a driver implements. Opened by `open-database.ts`. */
export type ShopDatabase = {
  /**
   * One read-only transaction that sees one moment. The session keeps its own time zone and date style: the shop's
   * queries may rely on them.
   *
   * A statement is cancelled after 30 s, or earlier where the database's own settings say so.
   *
   * @param how.explained where given, each statement of a query is explained before it is run, and added here.
   * @param how.seconds after which a statement is cancelled, at most 30.
   * @throws ReviewSyncError where the database cannot be reached, breaks the connection, or a statement takes too long.
   */
  read<T>(work: (session: ShopSession, check: QueryCheck) => Promise<T>, how?: ReadOptions): Promise<T>;
  facts(): Promise<ShopFacts>;
  close(): Promise<void>;
};

export type ReadOptions = { explained?: ExplainedStatement[]; seconds?: number };

export type ShopDatabaseOptions = {
  url: string;
  connections: number;
  /** SHOP_TIME_ZONE, the zone of dates without zone. */
  timeZone: string | undefined;
  /** Once it is aborted, statements that run fail, and nothing more is read. */
  signal?: AbortSignal | undefined;
  /**
   * How long the server may send nothing while a statement runs. Default: half as long again as a statement may take.
   */
  silenceMs?: number;
};

export type ShopFacts = {
  product: 'Postgres' | 'MySQL' | 'MariaDB';
  version: string;
  user: string;
  isSuperuser: boolean;
  /** Tables that the user may write to, and the names of the first three. */
  writable: number;
  examples: string[];
  /** Schemas of the search path in which every role may create functions, which would run with our user's rights. */
  openSchemas: string[];
  /** Tables whose engine has no transactions (MyISAM): two statements may see two states of them. */
  withoutSnapshot: string[];
};

/**
 * What reading the shop needs of its database, within one read-only transaction. One implementation for each kind of
 * database; what is done with the rows knows none of them.
 *
 * A key is compared as the database compares it: `char(n)` without padding, `citext` and collations without case.
 */
export type ShopSession = {
  /** Runs `read`; a failure that the data of some row caused comes back as a value, and the transaction goes on. */
  attempt<T>(read: () => Promise<T>): Promise<{ value: T } | { dataFault: DataFault }>;
  /** Rows whose key is one of `keys`, each with the place of its key. `columns`: the only ones to be computed. */
  rowsByKey(query: ShopQuery, key: string, keys: readonly string[], columns: readonly string[]): Promise<KeyedRow[]>;
  /** Rows whose column is null. */
  rowsWithout(query: ShopQuery, column: string, limit: number): Promise<RawRow[]>;
  rows(query: ShopQuery): Promise<RawRow[]>;
  /** The values of one column, null left out; of all rows, or of the first ones in any order. */
  values(query: ShopQuery, column: string, limit?: number): Promise<string[]>;
  /**
   * The first `limit` orders after the position, in the order of (date, code) or of the code alone. One bounded
   * statement where the column has an index. Rows whose date or code is null are left out.
   */
  walk(orders: ShopQuery, range: OrderRange): Promise<WalkedKey[]>;
  /** The first `limit` rows of changed_orders.sql after the position. A code comes as often as it changed. */
  changes(feed: ShopQuery, after: OrderPosition, limit: number): Promise<WalkedKey[]>;
  codesByCreation(orders: ShopQuery, which: 'newest' | 'oldest', limit: number): Promise<string[]>;
  /** Orders whose code is null, blank, too long or has a NUL, or one of whose dates is null. Reads the whole query. */
  keylessRows(
    orders: ShopQuery,
    dates: readonly string[],
    columns: readonly string[],
    limit: number,
  ): Promise<RawRow[]>;
  /** Codes that are in more than one row. Reads the whole query. */
  repeatedCodes(orders: ShopQuery, limit: number): Promise<{ code: string; rows: number }[]>;
  /** The database's clock: an instant with microseconds. */
  now(): Promise<string>;
};

/** `local`: the date as the database writes it, where it has no zone. */
export type WalkedKey = OrderKey & { local?: string };

/** `place`: index of the key among those asked for. */
export type KeyedRow = { place: number; row: RawRow };

/** A statement of a shop query as it was run: how long it took, and which large tables it reads as a whole. */
export type ExplainedStatement = StatementPlan & {
  file: QueryName;
  /** Undefined where it was cancelled after 30 s. */
  seconds: number | undefined;
};

/** `unexplained`: why the database does not say which tables a statement reads; `scans` is then empty. */
export type StatementPlan = { scans: FullScan[]; unexplained?: { why: string; remedy: string } };

/** A table that a statement reads as a whole. */
export type FullScan = {
  /** As one writes it in SQL. */
  table: string;
  /** From the database's statistics; undefined where the table was never analyzed. */
  rows: number | undefined;
  /** What would help, one clause. */
  remedy: string;
};

/** Why the database could not compute a row, without the value: it may be a customer's (promise 9). */
export type DataFault = Readonly<{ sqlState: string; what: string }>;
