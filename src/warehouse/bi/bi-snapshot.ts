import { createHash } from 'node:crypto';
import type pg from 'pg';
import { IncompleteError } from '../../base/errors.ts';
import type { Warehouse } from '../index.ts';
import { recount } from './recount.ts';

/** A column of a view. `type`: the name of its Postgres type. */
export type BiColumn = { name: string; type: string };

/** A view of `bi`. `definition`: a hash of the columns and of the query behind them. */
type BiView = { columns: BiColumn[]; definition: string };

/**
 * A month of a view. `first`: its first day as Postgres writes it; null: rows without a date. `version`: another one
 * once rows of the month changed.
 */
export type BiMonth = { first: string | null; version: string };

/** How new the data of a snapshot is: `bi.freshness`, as ISO 8601 in UTC. */
export type Freshness = Record<'newestReviewAt' | 'reviewsReadTo' | 'ordersPushedTo', string | null>;

/** Which rows of a view: all of them, or those of one month, by a column of type timestamptz. Sorted by `order`. */
type BiSelection = { view: string; order: readonly string[]; month?: { by: string; first: string | null } };

/** `bi` as it was at one moment. */
export type BiSnapshot = {
  /** Identifies the warehouse; also after it was restored from a backup. */
  warehouse: string;
  timeZone: string;
  /** ISO 8601 in UTC. */
  takenAt: string;
  freshness: Freshness;
  views: ReadonlyMap<string, BiView>;
  /** The months in which the view ever had rows. */
  months(view: 'reviews' | 'sub_orders'): BiMonth[];
  /**
   * The rows, a few at a time. A value is null or a text: of a date the days since 1970, of a timestamptz the
   * microseconds since 1970, of a numeric nine decimals, of anything else Postgres' own text. Null in place of
   * `infinity`, and of a numeric of 10^29 or more.
   */
  rows(selection: BiSelection): AsyncGenerator<(string | null)[][]>;
};

/** Rows of one fetch. 2000 of bi.reviews are 0.5 MB; 10,000 gain nothing. */
const rowsOfAFetch = 2000;
/** A fetch of long texts takes fewer rows, so that it needs about this much memory. */
const charactersOfAFetch = 8_000_000;

/**
 * Calls `work` with one consistent state of `bi` (a transaction of isolation level repeatable read). It reads with the
 * rights of bi_reader where the user of the warehouse may take that role, otherwise with its own. Only one process at a
 * time does so. What was touched is counted first, so that the versions of months are those of the rows.
 *
 * @throws IncompleteError when another process is at it.
 */
export async function withBiSnapshot<T>(warehouse: Warehouse, work: (snapshot: BiSnapshot) => Promise<T>): Promise<T> {
  const touched = await warehouse.pool.query('select from sync.touches limit 1');
  if (touched.rows.length > 0) await recount(warehouse.db);
  const client = await warehouse.pool.connect();
  let isBroken = true;
  try {
    await client.query('begin isolation level repeatable read');
    await lockExports(client);
    const snapshot = await openSnapshot(client);
    const result = await work(snapshot);
    await client.query('commit');
    isBroken = false;
    return result;
  } finally {
    // Closing the connection ends the transaction and its lock, whatever state it is in.
    client.release(isBroken);
  }
}

async function lockExports(client: pg.ClientBase): Promise<void> {
  try {
    await client.query(`select from sync.locks where name = 'export' for update nowait`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== '55P03') throw error;
    throw new IncompleteError('Another export of this warehouse is running', {
      hint: 'Run this again when it has ended.',
    });
  }
}

async function openSnapshot(client: pg.ClientBase): Promise<BiSnapshot> {
  const { rows } = await client.query<{ salt: string; takenAt: string }>(
    `select order_salt as salt, ${isoText('now()')} as "takenAt" from sync.settings`,
  );
  const months = await client.query<BiMonth & { relation: string }>(
    `select relation, nullif(month, '-infinity')::text as first, changed_at::text as version
    from sync.month_versions
    where month <> 'infinity'
    order by relation, month`,
  );
  const views = await readViews(client);
  await takeReaderRole(client);
  const state = await client.query<Freshness & { timeZone: string }>(
    `select time_zone as "timeZone", ${isoText('newest_review_at')} as "newestReviewAt",
      ${isoText('reviews_read_to')} as "reviewsReadTo", ${isoText('orders_pushed_to')} as "ordersPushedTo"
    from bi.freshness`,
  );
  const [settings, fresh] = [rows[0], state.rows[0]];
  if (!settings || !fresh) throw new Error('sync.settings is empty, expected one row');
  const { timeZone, ...freshness } = fresh;
  return {
    warehouse: createHash('sha256').update(`review-sync export ${settings.salt}`).digest('hex').slice(0, 32),
    timeZone,
    takenAt: settings.takenAt,
    freshness,
    views,
    months: (view) =>
      months.rows.filter(({ relation }) => relation === view).map(({ first, version }) => ({ first, version })),
    rows: (selection) => readRows(client, views, timeZone, selection),
  };
}

const isoText = (moment: string) => `to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

async function readViews(client: pg.ClientBase): Promise<Map<string, BiView>> {
  const { rows } = await client.query<{ name: string; columns: BiColumn[]; query: string }>(
    `select c.relname as name, pg_get_viewdef(c.oid) as query,
      jsonb_agg(jsonb_build_object('name', a.attname, 'type', a.atttypid::regtype) order by a.attnum) as columns
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'bi'::regnamespace and c.relkind = 'v'
    group by c.oid, c.relname`,
  );
  return new Map(
    rows.map(({ name, columns, query }) => {
      const definition = createHash('sha256')
        .update(JSON.stringify([columns, query]))
        .digest('hex');
      return [name, { columns, definition }];
    }),
  );
}

/**
 * The views show the same to both; with the lesser rights, a mistake in a query of an export cannot show more than
 * `bi`.
 */
async function takeReaderRole(client: pg.ClientBase): Promise<void> {
  await client.query('savepoint own_rights');
  try {
    await client.query('set local role bi_reader');
  } catch {
    await client.query('rollback to savepoint own_rights');
  }
}

async function* readRows(
  client: pg.ClientBase,
  views: ReadonlyMap<string, BiView>,
  timeZone: string,
  { view, order, month }: BiSelection,
): AsyncGenerator<(string | null)[][]> {
  const name = (column: string) => client.escapeIdentifier(column);
  const columns = views.get(view)?.columns.map((column) => castToText(name(column.name), column.type)) ?? [];
  const zone = client.escapeLiteral(timeZone);
  const condition = month ? `where ${inMonth(name(month.by), zone, month.first, client)}` : '';
  const sorted = order.length > 0 ? `order by ${order.map(name).join(', ')}` : '';
  // All rows are read: without this, Postgres plans for the first tenth of them.
  await client.query('set local cursor_tuple_fraction = 1');
  await client.query(
    `declare rows_of_bi no scroll cursor for
    select ${columns.join(', ')} from bi.${name(view)} ${condition} ${sorted}`,
  );
  for (let count = 100; ; ) {
    const text = `fetch ${count} from rows_of_bi`;
    const { rows } = await client.query<(string | null)[]>({ text, rowMode: 'array', types: onlyText });
    if (rows.length > 0) yield rows;
    if (rows.length < count) break;
    const characters = rows.reduce((sum, row) => sum + row.reduce((length, one) => length + (one?.length ?? 0), 0), 0);
    const fitting = Math.floor((charactersOfAFetch * rows.length) / Math.max(1, characters));
    count = Math.max(1, Math.min(rowsOfAFetch, fitting));
  }
  await client.query('close rows_of_bi');
}

const onlyText = { getTypeParser: () => String };

/**
 * The exact month, and around it a range that an index finds: local time does not always rise where clocks are set
 * back.
 */
function inMonth(by: string, zone: string, first: string | null, client: pg.ClientBase): string {
  if (first === null) return `${by} is null`;
  const month = `${client.escapeLiteral(first)}::date`;
  return `${by} >= (${month} - interval '1 day') at time zone ${zone}
    and ${by} < (${month} + interval '1 month 1 day') at time zone ${zone}
    and date_trunc('month', ${by} at time zone ${zone})::date = ${month}`;
}

function castToText(column: string, type: string): string {
  switch (type) {
    case 'date':
      return `case when isfinite(${column}) then ${column} - date '1970-01-01' end`;
    case 'timestamp with time zone':
      return `case when isfinite(${column}) then (extract(epoch from ${column}) * 1000000)::bigint end`;
    case 'numeric':
      return `case when ${column} > -1e29 and ${column} < 1e29 then round(${column}, 9) end`;
    default:
      return `${column}::text`;
  }
}
