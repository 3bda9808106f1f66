import {
  type CallOptions,
  NotFoundError,
  RefusedError,
  type ReviewApi,
  UnknownOutcomeError,
} from '../../review-api/index.ts';
import type { CatalogRow } from '../../shop/catalog.ts';
import { isUsableCode, type RawRow, type Read } from '../../shop/rows.ts';
import { findDeadLetters, keyOf, type NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { type Attempted, defaultRetryBudget, openServiceHealth, type RetryBudget } from '../service-health.ts';

/** Requests about a record whose last run failed too are sent once: the catalog is synced every hour. */
const catalogRetryBudget: RetryBudget = { ...defaultRetryBudget, totalAfterFailedPushMs: 0 };

export type CatalogAttempt = <T>(code: string, send: (options: CallOptions) => Promise<T>) => Promise<Attempted<T>>;

/**
 * Sends requests about one record of the catalog at a time. `failed`: only this record fails, because the service refuses
 * it or always responds with an error.
 *
 * @throws the client's errors where the service itself fails.
 */
export async function openAttempts(
  {
    api,
    db,
    signal,
    retryBudget = catalogRetryBudget,
  }: { api: Pick<ReviewApi, 'orders'>; db: Db; signal: AbortSignal; retryBudget?: RetryBudget },
  kind: 'category' | 'user_grade',
): Promise<CatalogAttempt> {
  const health = openServiceHealth(api, { retryBudget, signal });
  const failing = new Set((await findDeadLetters(db, { kind })).map(({ key }) => key));
  return async (code, send) => {
    try {
      return await health.ofRecord({ hasFailedBefore: failing.has(code) }).attempt(() => {}, send);
    } catch (error) {
      // An unknown outcome was looked up already: the record is not there. The next run looks again before it creates.
      const isOfRecord = [RefusedError, NotFoundError, UnknownOutcomeError].some((kind) => error instanceof kind);
      if (isOfRecord && error instanceof Error) return { failed: error.message };
      throw error;
    }
  };
}

/**
 * The rows of a catalog query that can be pushed, by code, and the others as dead letters. A code that is there twice is
 * one dead letter: which of its rows is right is not known, and their order may change from run to run.
 */
export function readCatalogRows<T extends { code: string }>(
  kind: 'category' | 'user_grade',
  rows: readonly CatalogRow[],
  read: (raw: RawRow) => Read<T>,
): { byCode: Map<string, T>; deadLetters: NewDeadLetter[] } {
  const byCode = new Map<string, T>();
  const deadLetters: NewDeadLetter[] = [];
  for (const [key, same] of Map.groupBy(rows, ({ row }) => (isUsableCode(row.code) ? row.code.trim() : keyOf(row)))) {
    const [first] = same;
    if (!first) continue;
    const result = first.fault === undefined ? read(first.row) : { fault: first.fault };
    const code = isUsableCode(first.row.code) ? first.row.code : key;
    if (same.length > 1) {
      const reason = `code is there in ${same.length} rows, expected one; a join may multiply rows`;
      deadLetters.push({ kind, key: code, reason, payload: same.map(({ row }) => row) });
    } else if ('fault' in result) deadLetters.push({ kind, key: code, reason: result.fault, payload: first.row });
    else byCode.set(result.row.code, result.row);
  }
  return { byCode, deadLetters };
}
