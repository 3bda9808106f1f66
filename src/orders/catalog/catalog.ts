import { isUsableCode, normalText } from '../../base/codes.ts';
import type { Counts } from '../../base/counts.ts';
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
import { type CatalogKind, catalogLinks, saveCatalogLink } from '../../warehouse/orders/catalog-links.ts';
import type { OrderDeps } from '../order-deps.ts';
import { fingerprint } from '../plan/desired-order.ts';
import { openBreaker, openRequests } from '../requests.ts';

const queryOf = { category: 'categories', user_grade: 'user_grades' } as const;

/**
 * Opens the shop's records of one kind, and what is remembered of them.
 *
 * @param optional a column, and its field in a record. If the query selects the column and a record has no value, the value at
 *   the service is cleared.
 */
export async function openCatalog<T extends { code: string }>(
  deps: OrderDeps,
  kind: CatalogKind,
  read: (raw: RawRow) => Read<T>,
  [column, field]: readonly [column: string, field: keyof T],
) {
  const { db, shop, signal } = deps;
  const query = queryOf[kind];
  const rows = (await shop.catalog(query)) ?? [];
  const { byCode, codes, deadLetters } = readCatalogRows(kind, rows, read);
  const failing = await failingKeys(db, kind);
  const links = await catalogLinks(db, kind);
  const isSelected = rows.some(({ row }) => column in row);
  const breaker = openBreaker();
  let pushed = 0;
  const isCleared = (record: T) => isSelected && record[field] === undefined;
  const hashOf = (record: T) => fingerprint({ ...record, isCleared: isCleared(record) });
  const fail = (record: T, reason: string): void => {
    deadLetters.push({ kind, key: record.code, reason, payload: record });
  };
  return {
    /** The records that can be pushed. */
    byCode,
    /** The codes of all rows. */
    codes,
    links,
    fail,
    isCleared,
    isUnchanged: (record: T) => links.get(record.code)?.fingerprint === hashOf(record),
    hasFailed: (code: string) => deadLetters.some(({ key }) => key === code),
    /** Another code of the shop that is linked to the record with this id. */
    otherCodeOf: (id: number, code: string) =>
      [...links.values()].find((one) => one.id === id && one.code !== code && byCode.has(one.code))?.code,
    /**
     * Sends the requests about one record, and saves its link. If the outcome is not known, the next run looks again before
     * it creates. If the service refuses the record, or always responds with an error, the record alone fails.
     *
     * @param send returns the record's id at the service; or why it failed; or undefined if nothing was to be sent.
     * @throws the client's errors where the service itself fails.
     */
    async push(record: T, send: (options: CallOptions) => Promise<{ id: number } | string | undefined>): Promise<void> {
      const { code } = record;
      signal.throwIfAborted();
      const attempt = breaker.begin(failing.has(code));
      const sent = await openRequests(deps)(send);
      if (sent.kind === 'failed' && sent.failure === 'transient') attempt.failed(sent.reason);
      if (sent.kind !== 'done') return fail(record, sent.reason);
      attempt.responded();
      if (typeof sent.value === 'string') return fail(record, sent.value);
      if (sent.value === undefined) return;
      const link = { code, id: sent.value.id, fingerprint: hashOf(record) };
      await saveCatalogLink(db, kind, link);
      links.set(code, link);
      pushed += 1;
    },
    /** Records what failed, and closes all other dead letters of the kind. */
    async end(): Promise<Counts> {
      await putDeadLetters(db, deadLetters);
      await resolveDeadLettersExcept(db, kind, deadLetters);
      const counts: Counts = { [query]: rows.length, [`${query}_pushed`]: pushed };
      return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
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
  const keyOf = ({ row }: CatalogRow) => (isUsableCode(row.code) ? normalText(row.code) : contentKey(row));
  const byKey = Map.groupBy(rows, keyOf);
  for (const [key, same] of byKey) {
    const [first] = same as [CatalogRow];
    const result = first.fault === undefined ? read(first.row) : { fault: first.fault };
    const code = isUsableCode(first.row.code) ? first.row.code : key;
    if (same.length > 1) {
      const reason = `code is there in ${same.length} rows, expected one; a join may multiply rows`;
      deadLetters.push({ kind, key: code, reason, payload: same.map(({ row }) => row) });
    } else if ('fault' in result) deadLetters.push({ kind, key: code, reason: result.fault, payload: first.row });
    else byCode.set(result.row.code, result.row);
  }
  return { byCode, codes: new Set(byKey.keys()), deadLetters };
}
