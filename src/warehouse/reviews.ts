import { CompiledQuery, sql } from 'kysely';
import { isoOf, type Span } from '../span.ts';
import { keyOf, type NewDeadLetter, putDeadLetter } from './dead-letters.ts';
import { type Db, inTransaction, isDeadlock, type Statements, type Warehouse } from './index.ts';
import type { Axis } from './schema.ts';

/** `late`: of those inserted and updated, how many should have been there already. */
export type Landed = { inserted: number; updated: number; unchanged: number; refused: number; late: number };

/** What a page completes, for the coverage ledger. */
export type LedgerEntry = {
  runId: string;
  axis: Axis;
  /** Row of the ledger that goes on; without it, a new one begins. */
  windowId?: number | undefined;
  /** Undefined where nothing is complete yet: then only the reviews land. */
  complete: Span | undefined;
  pages: number;
  reviews: number;
  requests: number;
  startedAt: Date;
  /** What is dated before this moment and was not here yet counts as late. */
  lateBefore?: Date | undefined;
};

const decoder = new TextDecoder();

type Values = readonly unknown[];
type Row = { inserted: number; updated: number; late: number; window_id: number | null };

/** A response body in UTF-8, known to be a JSON array of so many records; `isPlain`: they have `plainFields` alone. */
export type RawPage = { rawBody: Buffer; count: number; isPlain?: boolean };

/**
 * Lands a page and enters what it completes into the ledger, both or neither. What the statement refuses as a whole is taken row by row, and only the rows at fault become
 * dead letters.
 *
 * @returns also the ledger's row, to be extended by the next page of the same span.
 */
export async function landPage(
  warehouse: Warehouse,
  { rawBody, count, isPlain = false }: RawPage,
  entry: LedgerEntry,
): Promise<Landed & { windowId: number | undefined }> {
  const values = valuesOf(entry);
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Named, so that a connection plans this long statement once: planning takes as long as a page of rows.
      const text = warehouse.statements.landReviews;
      const { rows } = await warehouse.landings(() =>
        warehouse.pool.query({ name: 'land_reviews', text, values: [rawBody, ...values, isPlain] }),
      );
      return { ...landedOf(rows[0] as Row, count), windowId: rows[0].window_id ?? undefined };
    } catch (error) {
      if (isErrorOfTheData(error)) break;
      if (!isDeadlock(error) || attempt === 5) throw error;
    }
  }
  return inTransaction(warehouse.db, async (trx) => {
    const landed = await landRowByRow(trx, warehouse.statements, itemsOf(decoder.decode(rawBody)), entry);
    const { window_id } = await land(trx, warehouse.statements, '[]', values);
    return { ...landed, windowId: window_id ?? undefined };
  });
}

/** For what lands without an entry in the ledger. */
export const nothingComplete: LedgerEntry = {
  ...{ runId: '', complete: undefined, pages: 0, reviews: 0, requests: 0, startedAt: new Date(0) },
  axis: 'created',
};

/**
 * Lands a review that was read by its id. It shows fewer fields than one of a list (spec, "Review"): `user_id` stays as it
 * is here, and `comments_count` is counted.
 */
export function landOne(warehouse: Warehouse, rawBody: string): Promise<Landed> {
  return inTransaction(warehouse.db, async (trx) => {
    const whole = await attempt(trx, async () => {
      const { rows } = await sql<{ body: string }>`
        select (
          jsonb_strip_nulls(jsonb_build_object('user_id', kept.user_id, 'comments_count',
            case jsonb_typeof(item.body -> 'comments') when 'array' then jsonb_array_length(item.body -> 'comments') end
          )) || item.body
        )::text as body
        from (select ${rawBody}::jsonb as body) item
        left join warehouse.reviews kept on kept.id = (item.body ->> 'id')::bigint`.execute(trx);
      return rows[0]?.body ?? rawBody;
    });
    return landRowByRow(trx, warehouse.statements, [whole instanceof Error ? rawBody : whole], undefined);
  });
}

async function landRowByRow(
  trx: Db,
  statements: Statements,
  texts: readonly string[],
  entry: LedgerEntry | undefined,
): Promise<Landed> {
  const sum: Landed = { inserted: 0, updated: 0, unchanged: 0, refused: 0, late: 0 };
  const values = valuesOf(entry && { ...entry, windowId: undefined, complete: undefined });
  for (const text of texts) {
    const one = await attempt(trx, () => land(trx, statements, `[${text}]`, values));
    if (one instanceof Error) {
      const letter = refusal(text, one);
      const put = await attempt(trx, () => putDeadLetter(trx, letter));
      // What jsonb cannot hold in any form is kept as the text it came as.
      if (put instanceof Error) await putDeadLetter(trx, { ...letter, payload: text });
      sum.refused += 1;
    } else {
      const landed = landedOf(one, 1);
      for (const kind of ['inserted', 'updated', 'unchanged', 'late'] as const) sum[kind] += landed[kind];
    }
  }
  return sum;
}

function landedOf({ inserted, updated, late }: Row, count: number): Landed {
  return { inserted, updated, late, unchanged: count - inserted - updated, refused: 0 };
}

function valuesOf(entry: LedgerEntry | undefined): Values {
  const { complete } = entry ?? {};
  return [
    complete ? (entry?.windowId ?? null) : null,
    entry?.runId ?? null,
    entry?.axis ?? null,
    complete ? isoOf(complete.start) : null,
    complete ? isoOf(complete.end) : null,
    entry?.reviews ?? 0,
    entry?.requests ?? 0,
    entry?.startedAt ?? null,
    entry?.pages ?? 0,
    entry?.lateBefore ?? null,
  ];
}

async function land(trx: Db, statements: Statements, rawBody: string, values: Values): Promise<Row> {
  const { rows } = await trx.executeQuery<Row>(CompiledQuery.raw(statements.landReviews, [rawBody, ...values, false]));
  const row = rows[0];
  if (!row) throw new Error('land_reviews.sql gave no row');
  return row;
}

/** Runs `work` behind a savepoint: an error of the data leaves the transaction usable, any other one is thrown. */
async function attempt<T>(trx: Db, work: () => Promise<T>): Promise<T | Error> {
  await sql`savepoint landing`.execute(trx);
  try {
    const result = await work();
    await sql`release savepoint landing`.execute(trx);
    return result;
  } catch (error) {
    if (!isErrorOfTheData(error)) throw error;
    await sql`rollback to savepoint landing`.execute(trx);
    return error;
  }
}

/** SQLSTATE classes 21 (two rows for one key), 22 (data), 23 (constraint), 54 (too long, too deep): the record's fault. */
export function isErrorOfTheData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(2[123]|54)/.test(String(error.code));
}

/** The items of a valid JSON array as they came: parsed and printed again, numbers would lose digits. */
export function itemsOf(json: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let from = json.indexOf('[') + 1;
  for (let at = from - 1; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') {
      for (at += 1; json[at] !== '"'; at += 1) if (json[at] === '\\') at += 1;
    } else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
    if ((char === ',' && depth === 1) || (char === ']' && depth === 0)) {
      const item = json.slice(from, at).trim();
      if (item !== '') items.push(item);
      from = at + 1;
    }
  }
  return items;
}

function refusal(text: string, error: Error): NewDeadLetter {
  const item: unknown = JSON.parse(text);
  return {
    kind: 'review',
    key: letterKey(item, text),
    reason: `the warehouse refused the review: ${error.message}`.slice(0, 1000),
    payload: isPrintable(item) ? item : text,
  };
}

/** What is nested tens of thousands deep can be parsed, but not printed. */
function isPrintable(item: unknown): boolean {
  try {
    return JSON.stringify(item) !== undefined;
  } catch {
    return false;
  }
}

function letterKey(item: unknown, text: string): string {
  const key = String(idOf(item) ?? '');
  const isUsable = key !== '' && key.length <= 100 && key.isWellFormed() && !key.includes('\u0000');
  return isUsable ? key : keyOf(text);
}

function idOf(item: unknown): string | number | undefined {
  const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : undefined;
  return typeof id === 'number' || typeof id === 'string' ? id : undefined;
}
