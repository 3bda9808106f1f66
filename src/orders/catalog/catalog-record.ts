import { isUsableCode } from '../../base/is-storable.ts';
import { contentKey } from '../../base/json-text.ts';
import type { CallOptions } from '../../review-api/index.ts';
import type { CatalogRow } from '../../shop/catalog.ts';
import type { RawRow, Read } from '../../shop/rows.ts';
import {
  failingKeys,
  type NewDeadLetter,
  putDeadLetters,
  resolveDeadLettersExcept,
} from '../../warehouse/dead-letters.ts';
import type { CatalogKind } from '../../warehouse/orders/catalog-links.ts';
import type { OrderDeps } from '../order-deps.ts';
import { openBreaker, openRequests } from '../requests.ts';

export type CatalogAttempt = <T>(
  code: string,
  send: (options: CallOptions) => Promise<T>,
) => Promise<{ value: T } | { failed: string }>;

/**
 * Sends requests about one record of the catalog at a time. `failed`: only this record fails, because the service
 * refuses it or always responds with an error. If the outcome is not known, the next run looks again before it
 * creates.
 *
 * @throws the client's errors where the service itself fails.
 */
export async function openAttempts(deps: OrderDeps, kind: CatalogKind): Promise<CatalogAttempt> {
  const failing = await failingKeys(deps.db, kind);
  const breaker = openBreaker();
  return async (code, send) => {
    const record = breaker.begin(failing.has(code));
    const sent = await openRequests(deps).write(send);
    if (sent.kind === 'done') {
      record.responded();
      return { value: sent.value };
    }
    if (sent.kind === 'failed' && sent.failure === 'transient') record.failed(sent.reason);
    return { failed: sent.kind === 'absent' ? 'the review service has no such record (404)' : sent.reason };
  };
}

/** The rows of a catalog query that can be pushed, by code; the others as dead letters. */
export type CatalogRows<T> = { byCode: Map<string, T>; deadLetters: NewDeadLetter[] };

/** A code that is there twice is one dead letter: which of its rows is right is not known, and may change. */
export function readCatalogRows<T extends { code: string }>(
  kind: CatalogKind,
  rows: readonly CatalogRow[],
  read: (raw: RawRow) => Read<T>,
): CatalogRows<T> {
  const byCode = new Map<string, T>();
  const deadLetters: NewDeadLetter[] = [];
  for (const [key, same] of Map.groupBy(rows, ({ row }) =>
    isUsableCode(row.code) ? row.code.trim() : contentKey(row),
  )) {
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

/** Records what could not be synced, and closes all other dead letters of the kind. */
export async function recordFailures({ db }: OrderDeps, kind: CatalogKind, deadLetters: readonly NewDeadLetter[]) {
  await putDeadLetters(db, deadLetters);
  await resolveDeadLettersExcept(
    db,
    kind,
    deadLetters.map(({ key }) => key),
  );
}
