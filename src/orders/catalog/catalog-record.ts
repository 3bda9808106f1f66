import { isUsableCode } from '../../base/codes.ts';
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

/**
 * What the records of one kind are sent with. `deadLetters` begins with the rows that cannot be sent, and gets the records
 * that fail.
 */
export async function openRecords(deps: OrderDeps, kind: CatalogKind, deadLetters: NewDeadLetter[]) {
  const { db } = deps;
  const failing = await failingKeys(db, kind);
  const breaker = openBreaker();
  const fail = (record: { code: string }, reason: string): void => {
    deadLetters.push({ kind, key: record.code, reason, payload: record });
  };
  return {
    fail,
    hasFailed: (code: string) => deadLetters.some(({ key }) => key === code),
    /**
     * Sends requests about one record. If the outcome is not known, the next run looks again before it creates.
     *
     * @returns undefined: this record alone fails, because the service refuses it or always responds with an error.
     * @throws the client's errors where the service itself fails.
     */
    async attempt<T>(record: { code: string }, send: (options: CallOptions) => Promise<T>): Promise<T | undefined> {
      const attempt = breaker.begin(failing.has(record.code));
      const sent = await openRequests(deps)(send);
      if (sent.kind === 'done') {
        attempt.responded();
        return sent.value;
      }
      if (sent.kind === 'failed' && sent.failure === 'transient') attempt.failed(sent.reason);
      fail(record, sent.kind === 'absent' ? 'the review service has no such record (404)' : sent.reason);
      return undefined;
    },
    /** Records what failed, and closes all other dead letters of the kind. */
    async end(): Promise<void> {
      await putDeadLetters(db, deadLetters);
      await resolveDeadLettersExcept(db, kind, deadLetters);
    },
  };
}

/**
 * The rows of a catalog query that can be pushed, by code; the others as dead letters. A code that is there twice is one dead
 * letter: which of its rows is right is not known, and may change.
 */
export function readCatalogRows<T extends { code: string }>(
  kind: CatalogKind,
  rows: readonly CatalogRow[],
  read: (raw: RawRow) => Read<T>,
) {
  const byCode = new Map<string, T>();
  const deadLetters: NewDeadLetter[] = [];
  const keyOf = ({ row }: CatalogRow) => (isUsableCode(row.code) ? row.code.trim() : contentKey(row));
  for (const [key, same] of Map.groupBy(rows, keyOf)) {
    const [first] = same as [CatalogRow];
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
