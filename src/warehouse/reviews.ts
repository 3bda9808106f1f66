import { CompiledQuery, sql } from 'kysely';
import { keyOf, type NewDeadLetter, openLetterKeys, putDeadLetter, resolveDeadLetters } from './dead-letters.ts';
import type { Db, Statements } from './index.ts';

export type Landed = { inserted: number; updated: number; unchanged: number; refused: number };

/**
 * Lands a page (a response body as it came, known to be a JSON array) in the caller's transaction. What the statement refuses as a whole is taken
 * row by row, and only the rows at fault become dead letters.
 */
export async function landReviews(trx: Db, statements: Statements, rawBody: string): Promise<Landed> {
  const landed = await attempt(trx, () => upsert(trx, statements, rawBody));
  if (!(landed instanceof Error)) {
    await resolveLanded(trx, rawBody);
    return { ...landed, refused: 0 };
  }
  const sum: Landed = { inserted: 0, updated: 0, unchanged: 0, refused: 0 };
  const healed: string[] = [];
  for (const item of JSON.parse(rawBody) as unknown[]) {
    const one = await attempt(trx, () => upsert(trx, statements, JSON.stringify([item])));
    if (one instanceof Error) {
      await putDeadLetter(trx, refusal(item, one));
      sum.refused += 1;
    } else {
      sum.inserted += one.inserted;
      sum.updated += one.updated;
      sum.unchanged += one.unchanged;
      healed.push(letterKey(item));
    }
  }
  await resolveDeadLetters(trx, 'review', healed);
  return sum;
}

/** Closes the letters of reviews that have landed. There are hardly ever any, so the page is looked into only then. */
async function resolveLanded(trx: Db, rawBody: string): Promise<void> {
  const open = new Set(await openLetterKeys(trx, 'review'));
  if (open.size === 0) return;
  const keys = (JSON.parse(rawBody) as unknown[]).map(letterKey).filter((key) => open.has(key));
  await resolveDeadLetters(trx, 'review', keys);
}

async function upsert(trx: Db, statements: Statements, rawBody: string): Promise<Omit<Landed, 'refused'>> {
  const { rows } = await trx.executeQuery<Omit<Landed, 'refused'>>(
    CompiledQuery.raw(statements.upsertReviews, [rawBody]),
  );
  const row = rows[0];
  if (!row) throw new Error('upsert_reviews.sql gave no row');
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

/** SQLSTATE classes 21 (two rows for one key), 22 (data exception) and 23 (constraint): the record is at fault. */
function isErrorOfTheData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^2[123]/.test(String(error.code));
}

function refusal(item: unknown, error: Error): NewDeadLetter {
  return {
    kind: 'review',
    key: letterKey(item),
    reason: `the warehouse refused the review: ${error.message}`,
    payload: item,
  };
}

function letterKey(item: unknown): string {
  const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : undefined;
  return typeof id === 'number' || (typeof id === 'string' && id !== '') ? String(id) : keyOf(item);
}
