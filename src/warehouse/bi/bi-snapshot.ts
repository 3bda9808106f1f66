import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { type Db, isAny, listOf, rowOf, rowsOf, type Warehouse, write } from '../index.ts';
import { recount } from './recount.ts';

/** A column of a view. `type`: the name of its Postgres type. */
export type BiColumn = { name: string; type: string };

/** Rows of a view, perhaps of one month only. `textOf`: an SQL expression for the text of a column of a type. */
type BiSelection = {
  view: string;
  order: readonly string[];
  textOf: (column: string, type: string) => string;
  month?: { by: string; name: string };
};

/** `bi` as it was at one moment. `takenAt`: ISO 8601 in UTC. */
export type BiSnapshot = Awaited<ReturnType<typeof openSnapshot>>;

/** Rows of one fetch. 2000 of bi.reviews are 0.5 MB; 10,000 gain nothing. */
const rowsOfAFetch = 2000;

/**
 * Calls `work` with one consistent state of `bi`, in a transaction that may be idle for as long as a file takes to
 * write. Only one process at a time does this, under a lock that no other statement of ours takes. Touched keys are
 * counted first, so the versions of months fit the rows. Keys touched later get their version with the next count.
 *
 * @throws DatabaseError (isLockedOut) while another process has this lock.
 */
export async function withBiSnapshot<T>({ db }: Warehouse, work: (snapshot: BiSnapshot) => Promise<T>): Promise<T> {
  // If there is nothing to count, `bi.freshness` stays as it is.
  const isDue = isAny(db)`select from sync.settings where counted_at is null or exists (select from sync.touches)`;
  if (await isDue) await recount(db);
  const transaction = db.transaction().setIsolationLevel('repeatable read');
  return transaction.execute(async (trx) => {
    const statements = `set local lock_timeout = '2s'; lock table sync.settings in share update exclusive mode;
      set local lock_timeout to default; set local idle_in_transaction_session_timeout = 0`;
    await sql.raw(statements).execute(trx);
    return work(await openSnapshot(trx));
  });
}

async function openSnapshot(trx: Db) {
  const { salt, ...settings } = await rowOf<{ salt: string; timeZone: string; takenAt: string }>(trx)`
    select order_salt as salt, time_zone as "timeZone",
      to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "takenAt"
    from sync.settings`;
  const months = await listOf<{ name: string; version: string }>(trx)`
    select case when isfinite(month) then regexp_replace(month::text, '-01( BC)?$', '\\1') else '' end as name,
      md5(string_agg(counted_at::text, ' ' order by counted_at)) as version
    from sync.product_counts where month < 'infinity' group by month`;
  const found = await rowsOf<{ name: string; columns: BiColumn[]; definition: string }>(trx, 'views_of_bi');
  const views = new Map(found.map(({ name, ...view }) => [name, view]));
  return {
    ...settings,
    /** Identifies the warehouse; also after it was restored from a backup. */
    warehouse: createHash('sha256').update(`review-sync export ${salt}`).digest('hex').slice(0, 32),
    /** `definition`: a hash of the columns and of the query behind them. */
    views,
    /**
     * The version of each month that ever had reviews, orders or deliveries. It changes when they change. The key is
     * `yyyy-mm`, with ` BC` before our era, and empty for orders without a date.
     */
    months: new Map(months.map(({ name, version }) => [name, version])),
    rows: (selection: BiSelection) =>
      readRows(trx, views.get(selection.view)?.columns ?? [], settings.timeZone, selection),
  };
}

async function* readRows(
  trx: Db,
  columns: readonly BiColumn[],
  timeZone: string,
  { view, order, textOf, month }: BiSelection,
): AsyncGenerator<(string | null)[][]> {
  const texts = columns.map(({ name, type }) => `(${textOf(quoted(name), type)})::text as ${quoted(name)}`).join(', ');
  const condition = month ? `where ${inMonth(quoted(month.by), pg.escapeLiteral(timeZone), month.name)}` : '';
  const sorted = order.length > 0 ? `order by ${order.map((name) => `v.${quoted(name)}`).join(', ')}` : '';
  const select = `select ${texts} from bi.${quoted(view)} v ${condition} ${sorted}`;
  // All rows are read: without this, Postgres plans for the first tenth of them.
  await sql.raw(`set local cursor_tuple_fraction = 1; declare rows_of_bi no scroll cursor for ${select}`).execute(trx);
  for (;;) {
    const rows = await listOf<Record<string, string | null>>(trx)`fetch ${sql.lit(rowsOfAFetch)} from rows_of_bi`;
    if (rows.length > 0) yield rows.map((row) => Object.values(row));
    if (rows.length < rowsOfAFetch) break;
  }
  await write(trx)`close rows_of_bi`;
}

const quoted = pg.escapeIdentifier;

/** The exact month, and a wider range that an index can use: local time goes back when clocks are set back. */
function inMonth(by: string, zone: string, name: string): string {
  if (name === '') return `${by} is null`;
  const month = `date '${name.replace(/( BC)?$/, '-01$1')}'`;
  return `${by} >= (${month} - interval '1 day') at time zone ${zone}
    and ${by} < (${month} + interval '1 month 1 day') at time zone ${zone}
    and date_trunc('month', ${by} at time zone ${zone})::date = ${month}`;
}
