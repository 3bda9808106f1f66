import { createHash } from 'node:crypto';
import { mask, privateTextsOf } from '../base/mask.ts';
import type { Db } from './index.ts';
import type { DeadLetterKind } from './schema.ts';
import { sql } from './sql.ts';

export type NewDeadLetter = {
  kind: DeadLetterKind;
  /** The record's key; for a record that has none, `keyOf` of the record. */
  key: string;
  /** The order that the record is or belongs to. */
  order_code?: string | undefined;
  reason: string;
  payload: unknown;
  /** What the record belongs to, such as a line's order. Not stored; the service may quote its customer in the reason. */
  partOf?: unknown;
};

/** The reason without values of the customer's columns (promise 9): the service may quote what it was sent. */
export const maskedReason = ({ reason, payload, partOf }: NewDeadLetter) =>
  mask(reason, privateTextsOf([payload, partOf]));

/** Stores a record that could not be synced. An open dead letter of the record gets the new reason and counts another attempt. */
export async function putDeadLetter(db: Db, deadLetter: NewDeadLetter): Promise<void> {
  await sql`
    insert into sync.dead_letters as kept (kind, key, order_code, reason, payload)
    values (${deadLetter.kind}, ${deadLetter.key}, ${deadLetter.order_code ?? null}, ${maskedReason(deadLetter)}, ${asStorableJson(deadLetter.payload)}::jsonb)
    on conflict (kind, key) where resolved_at is null do update
    set reason = excluded.reason, payload = excluded.payload, order_code = excluded.order_code,
      attempts = kept.attempts + 1, last_failed_at = now(), checked_at = now()
  `.execute(db);
}

/** Closes the open dead letters of these records, which were synced. @returns how many were open. */
export async function resolveDeadLetters(db: Db, kind: DeadLetterKind, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0;
  const { changed } = await sql`
    update sync.dead_letters set resolved_at = now()
    where kind = ${kind} and key = any(${keys}) and resolved_at is null`.execute(db);
  return changed;
}

export type DeadLetterGroup = {
  kind: DeadLetterKind;
  reason: string;
  count: number;
  ids: number[];
  firstFailedAt: Date;
  lastFailedAt: Date;
};

/** Open dead letters by kind and reason, the most frequent first. */
export async function groupDeadLetters(db: Db): Promise<DeadLetterGroup[]> {
  const { rows } = await sql<DeadLetterGroup>`
    select kind, reason, count(*) as count, (array_agg(id order by id))[1:20]::integer[] as ids,
      min(first_failed_at) as "firstFailedAt", max(last_failed_at) as "lastFailedAt"
    from sync.dead_letters
    where resolved_at is null
    group by kind, reason
    order by count(*) desc`.execute(db);
  return rows;
}

export async function countOpenDeadLetters(db: Db, kinds: readonly DeadLetterKind[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from sync.dead_letters where resolved_at is null and kind = any(${kinds})`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A stable key for a record without a key. */
export function keyOf(record: unknown): string {
  return `sha256:${createHash('sha256')
    .update(JSON.stringify(record) ?? '')
    .digest('hex')
    .slice(0, 32)}`;
}

/**
 * A value as JSON that jsonb accepts: NUL and lone surrogates, which jsonb refuses, become the six characters of their escape.
 */
export function asStorableJson(payload: unknown): string {
  const json = JSON.stringify(payload) ?? 'null';
  // Hardly any text has such an escape, and the pattern costs as much as the rest of recording an order.
  if (!json.includes('\\u')) return json;
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\(u(?:0000|d[89a-f][0-9a-f]{2}))/g, '$1\\\\$2');
}

/** Closes the open dead letters of these orders and of their lines. */
export async function resolveOrderDeadLetters(db: Db, orderCodes: readonly string[]): Promise<void> {
  if (orderCodes.length === 0) return;
  await sql`
    update sync.dead_letters set resolved_at = now()
    where resolved_at is null and order_code = any(${orderCodes})`.execute(db);
}

/** Codes of the orders of these dead letters. */
export async function orderCodesOf(db: Db, ids: readonly number[]): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select distinct order_code as code from sync.dead_letters where order_code is not null and id = any(${ids})`.execute(
    db,
  );
  return rows.map((row) => row.code);
}

/** Closes the open dead letters of a kind that was synced as a whole, except for the keys that failed again. */
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

/** Closes the dead letters of orders without a code, except for those that the shop still has. */
export async function resolveKeylessDeadLetters(db: Db, stillFound: readonly string[]): Promise<void> {
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

const columns = sql`id, kind, key, reason, attempts, first_failed_at as "firstFailedAt",
  last_failed_at as "lastFailedAt", resolved_at as "resolvedAt"`;

/** Dead letters by id, or the open ones of a kind, or all open ones; the oldest first. */
export async function findDeadLetters(
  db: Db,
  { ids, kind, reason }: { ids?: readonly number[]; kind?: DeadLetterKind; reason?: string },
): Promise<DeadLetter[]> {
  const { rows } = await sql<DeadLetter>`
    select ${columns}, payload from sync.dead_letters
    where ${ids ? sql`id = any(${ids})` : sql`resolved_at is null`}
      and kind = coalesce(${kind ?? null}, kind) and reason = coalesce(${reason ?? null}, reason)
    order by id limit 100000`.execute(db);
  return rows;
}

/** The dead letters of one order and of its lines, open and resolved, the oldest first. */
export async function deadLettersOfOrder(db: Db, orderCode: string): Promise<Omit<DeadLetter, 'payload'>[]> {
  const { rows } = await sql<Omit<DeadLetter, 'payload'>>`
    select ${columns} from sync.dead_letters
    where order_code = ${orderCode} or (kind = 'order' and key = ${orderCode})
    order by id`.execute(db);
  return rows;
}

/** The dead letters of one record, open and resolved, the oldest first. */
export async function deadLettersOf(db: Db, kind: DeadLetterKind, key: string): Promise<Omit<DeadLetter, 'payload'>[]> {
  const { rows } = await sql<Omit<DeadLetter, 'payload'>>`
    select ${columns} from sync.dead_letters where kind = ${kind} and key = ${key} order by id`.execute(db);
  return rows;
}

/** Closes open dead letters without syncing them. @returns how many were open. */
export async function discardDeadLetters(db: Db, ids: readonly number[]): Promise<number> {
  const { changed } = await sql`
    update sync.dead_letters set resolved_at = now() where id = any(${ids}) and resolved_at is null`.execute(db);
  return changed;
}

/** Forgets the fingerprints of these orders, so that the next run pushes them although they have not changed. */
export async function forgetFingerprints(db: Db, orderCodes: readonly string[]): Promise<void> {
  await sql`
    update sync.order_links set fingerprint = null, retry_at = null where order_code = any(${orderCodes})`.execute(db);
}

/** The error of a run that left dead letters. */
export const deadLettersProblem = (open: number) =>
  `${open} records could not be synced; see them with: npx review-sync dead-letters`;
