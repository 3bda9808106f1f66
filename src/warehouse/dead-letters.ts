import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from './index.ts';
import type { DeadLetterKind } from './schema.ts';

export type NewDeadLetter = {
  kind: DeadLetterKind;
  /** The record's key; for a record that has none, `keyOf` of the record. */
  key: string;
  reason: string;
  payload: unknown;
};

/** Keeps a record that could not be synced. One that is already open counts another attempt and takes the new reason. */
export async function putDeadLetter(db: Db, letter: NewDeadLetter): Promise<void> {
  await sql`
    insert into sync.dead_letters as kept (kind, key, reason, payload)
    values (${letter.kind}, ${letter.key}, ${letter.reason}, ${storable(letter.payload)}::jsonb)
    on conflict (kind, key) where resolved_at is null do update
    set reason = excluded.reason, payload = excluded.payload, attempts = kept.attempts + 1, last_failed_at = now()
  `.execute(db);
}

/** Closes the open letters of these records: they went through. Gives the number that was open. */
export async function resolveDeadLetters(db: Db, kind: DeadLetterKind, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0;
  const result = await db
    .updateTable('sync.dead_letters')
    .set({ resolved_at: sql`now()` })
    .where('kind', '=', kind)
    .where('key', 'in', keys)
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export type DeadLetterGroup = {
  kind: DeadLetterKind;
  reason: string;
  count: number;
  ids: number[];
  firstFailedAt: Date;
  lastFailedAt: Date;
};

/** The open letters by kind and reason, the most frequent first. */
export async function groupDeadLetters(db: Db): Promise<DeadLetterGroup[]> {
  const rows = await db
    .selectFrom('sync.dead_letters')
    .where('resolved_at', 'is', null)
    .groupBy(['kind', 'reason'])
    .select((eb) => [
      'kind',
      'reason',
      eb.fn.countAll<number>().as('count'),
      sql<number[]>`(array_agg(id order by id))[1:20]::integer[]`.as('ids'),
      eb.fn.min('first_failed_at').as('firstFailedAt'),
      eb.fn.max('last_failed_at').as('lastFailedAt'),
    ])
    .orderBy('count', 'desc')
    .execute();
  return rows;
}

export async function countOpenDeadLetters(db: Db, kinds: readonly DeadLetterKind[]): Promise<number> {
  const row = await db
    .selectFrom('sync.dead_letters')
    .where('resolved_at', 'is', null)
    .where('kind', 'in', kinds)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

/** A stable key for a record that has none of its own. */
export function keyOf(record: unknown): string {
  return `sha256:${createHash('sha256')
    .update(JSON.stringify(record) ?? '')
    .digest('hex')
    .slice(0, 32)}`;
}

/**
 * jsonb cannot hold the character NUL or half a surrogate pair, which is often the very reason why the record is here.
 * JSON.stringify escapes just these.
 */
function storable(payload: unknown): string {
  const json = JSON.stringify(payload) ?? 'null';
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\(u(?:0000|d[89a-f][0-9a-f]{2}))/g, '$1\\\\$2');
}

/** Closes the letters of orders that went through and of all their lines, but of those that fail still. */
export async function resolveOrderLetters(
  db: Db,
  orderCodes: readonly string[],
  failingLines: readonly string[],
): Promise<void> {
  if (orderCodes.length === 0) return;
  await sql`
    update sync.dead_letters set resolved_at = now()
    where resolved_at is null
      and (
        (kind = 'order' and key = any(${orderCodes}))
        or (kind = 'order_line' and payload ->> 'order_code' = any(${orderCodes}) and key <> all(${failingLines}))
      )
  `.execute(db);
}

/** Codes of the orders that have an open letter, their own or a line's, the oldest first. */
export async function openOrderLetters(db: Db): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select ${letterOrderCode} as code
    from sync.dead_letters
    where kind in ('order', 'order_line') and resolved_at is null
    group by 1
    order by min(first_failed_at), 1`.execute(db);
  return rows.map((row) => row.code);
}

/** Codes of the orders that these letters are about. */
export async function orderCodesOf(db: Db, ids: readonly number[]): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select distinct ${letterOrderCode} as code
    from sync.dead_letters
    where kind in ('order', 'order_line') and id = any(${ids})`.execute(db);
  return rows.map((row) => row.code);
}

/** An order's letter has the code as its key; a line's tells it in its payload. */
const letterOrderCode = sql`case kind when 'order' then key else payload ->> 'order_code' end`;

/** Closes the open letters of a kind that was synced as a whole, but for those that failed again. */
export async function resolveDeadLettersExcept(
  db: Db,
  kind: DeadLetterKind,
  failing: readonly string[],
): Promise<void> {
  await sql`
    update sync.dead_letters set resolved_at = now()
    where kind = ${kind} and resolved_at is null and key <> all(${failing})
  `.execute(db);
}

/** Closes the letters of orders without a code that are no longer found so. */
export async function resolveKeylessLetters(db: Db, stillFound: readonly string[]): Promise<void> {
  await sql`
    update sync.dead_letters set resolved_at = now()
    where kind = 'order' and resolved_at is null and starts_with(key, 'sha256:') and key <> all(${stillFound})
  `.execute(db);
}

export type DeadLetter = {
  id: number;
  kind: DeadLetterKind;
  key: string;
  reason: string;
  payload: unknown;
  attempts: number;
  firstFailedAt: Date;
  lastFailedAt: Date;
  resolvedAt: Date | null;
};

/** Letters by id, or the open ones of a kind, or all open ones; the oldest first. */
export function findDeadLetters(
  db: Db,
  which: { ids?: readonly number[]; kind?: DeadLetterKind; reason?: string; limit?: number },
): Promise<DeadLetter[]> {
  let query = db
    .selectFrom('sync.dead_letters')
    .select(['id', 'kind', 'key', 'reason', 'payload', 'attempts'])
    .select(['first_failed_at as firstFailedAt', 'last_failed_at as lastFailedAt', 'resolved_at as resolvedAt'])
    .orderBy('id')
    .limit(which.limit ?? 100_000);
  if (which.ids) query = query.where('id', 'in', which.ids);
  else query = query.where('resolved_at', 'is', null);
  if (which.kind) query = query.where('kind', '=', which.kind);
  if (which.reason !== undefined) query = query.where('reason', '=', which.reason);
  return query.execute();
}

/** The letters of one order and of its lines, open and resolved, the oldest first. */
export async function lettersOfOrder(db: Db, orderCode: string): Promise<Omit<DeadLetter, 'payload'>[]> {
  return db
    .selectFrom('sync.dead_letters')
    .select(['id', 'kind', 'key', 'reason', 'attempts'])
    .select(['first_failed_at as firstFailedAt', 'last_failed_at as lastFailedAt', 'resolved_at as resolvedAt'])
    .where((eb) =>
      eb.or([
        eb('kind', '=', 'order').and('key', '=', orderCode),
        eb('kind', '=', 'order_line').and(sql<boolean>`starts_with(key, ${`${orderCode}/`})`),
      ]),
    )
    .orderBy('id')
    .execute();
}

/** The letters of one record, open and resolved, the oldest first. */
export function lettersOf(db: Db, kind: DeadLetterKind, key: string): Promise<Omit<DeadLetter, 'payload'>[]> {
  return db
    .selectFrom('sync.dead_letters')
    .select(['id', 'kind', 'key', 'reason', 'attempts'])
    .select(['first_failed_at as firstFailedAt', 'last_failed_at as lastFailedAt', 'resolved_at as resolvedAt'])
    .where('kind', '=', kind)
    .where('key', '=', key)
    .orderBy('id')
    .execute();
}

/** Closes open letters unsynced, because somebody said so. Gives how many were open. */
export async function discardDeadLetters(db: Db, ids: readonly number[]): Promise<number> {
  const result = await db
    .updateTable('sync.dead_letters')
    .set({ resolved_at: sql`now()` })
    .where('id', 'in', ids)
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Lets the orders of open letters be tried again although nothing about them has changed. */
export async function forgetFingerprints(db: Db, orderCodes: readonly string[]): Promise<void> {
  if (orderCodes.length === 0) return;
  await db.updateTable('sync.order_links').set({ fingerprint: null }).where('order_code', 'in', orderCodes).execute();
}

/** How a run tells that records wait as dead letters. */
export const lettersProblem = (open: number) =>
  `${open} records could not be synced; see them with: npx review-sync dead-letters`;

/** Whether a run was incomplete for that alone. */
export const isAboutLetters = (problem: string | null) => /^\d+ records could not be synced; see/.test(problem ?? '');
