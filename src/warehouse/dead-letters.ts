import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { mask, privateTextsOf } from '../base/mask.ts';
import type { Db } from './index.ts';
import { expiringFields, partialFields } from './reviews/review-columns.ts';
import type { DeadLetterKind } from './schema.ts';

export type NewDeadLetter = {
  kind: DeadLetterKind;
  /** The record's key; for a record that has none, `keyOf` of the record. */
  key: string;
  /** The order that the record is or belongs to. */
  order_code?: string | undefined;
  reason: string;
  payload: unknown;
  /** What the record belongs to, such as a line's order: the reason may quote its customer. Not stored. */
  partOf?: unknown;
};

/**
 * The reason without values of the customer's columns (promise 9): the service may quote what it was sent. Reasons of
 * webhooks quote nothing, and their senders may name as many values as they like: masking these takes the process down.
 */
export const maskedReason = ({ kind, reason, payload, partOf }: NewDeadLetter) =>
  kind === 'webhook' ? reason : mask(reason, privateTextsOf([payload, partOf]));

/**
 * Stores records that could not be synced. An open dead letter of one gets the new reason and one attempt more. Of two
 * under one key the last is stored.
 */
export async function putDeadLetters(db: Db, deadLetters: readonly NewDeadLetter[]): Promise<void> {
  if (deadLetters.length === 0) return;
  const rows = new Map(
    deadLetters.map((one) => [`${one.kind} ${one.key}`, { ...one, partOf: undefined, reason: maskedReason(one) }]),
  );
  await sql`
    insert into sync.dead_letters as kept (kind, key, order_code, reason, payload)
    select kind, key, order_code, reason, coalesce(payload, 'null')
    from jsonb_to_recordset(${asStorableJson([...rows.values()])}::jsonb)
      as given (kind text, key text, order_code text, reason text, payload jsonb)
    on conflict (kind, key) where resolved_at is null do update
    set reason = excluded.reason, payload = excluded.payload, order_code = excluded.order_code,
      attempts = kept.attempts + 1, last_failed_at = now(), checked_at = now()`.execute(db);
}

/** Closes the open dead letters of a kind for which the condition holds. */
async function close(db: Db, kind: DeadLetterKind, condition: RawBuilder<unknown>): Promise<void> {
  await sql`
    update sync.dead_letters set resolved_at = now()
    where kind = ${kind} and resolved_at is null and ${condition}`.execute(db);
}

/** Closes those of these records, which were synced. */
export const resolveDeadLetters = (db: Db, kind: DeadLetterKind, keys: readonly string[]) =>
  close(db, kind, sql`key = any(${keys})`);

/** Closes those of a kind that was synced as a whole, except for the keys that failed again. */
export const resolveDeadLettersExcept = (db: Db, kind: DeadLetterKind, failing: readonly string[]) =>
  close(db, kind, sql`key <> all(${failing})`);

/** Closes those of orders without a code, except for the ones that the shop still has. */
export const resolveKeylessDeadLetters = (db: Db, stillFound: readonly string[]) =>
  close(db, 'order', sql`starts_with(key, 'sha256:') and key <> all(${stillFound})`);

/** Closes those of reviews that no reading has shown since `at`. */
export const closeUnseenReviews = (db: Db, at: Date) => close(db, 'review', sql`last_failed_at < ${at}`);

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
    from sync.dead_letters where resolved_at is null
    group by kind, reason order by count desc`.execute(db);
  return rows;
}

/** Characters of a reason that are compared. The pattern takes time with the square of quotes that do not close. */
const mostOfReason = 2000;

/** The reason without values: quoted texts, and numbers of four digits and more (dates too). A status has three. */
const withoutValues = (reason: string) =>
  reason
    .slice(0, mostOfReason)
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"')
    .replaceAll(/\d{4,}[\d.:TZ+-]*/g, '…');

/** Joins groups whose reasons are alike. A joined group shows one of the reasons. The most frequent comes first. */
export function joinAlike(groups: readonly DeadLetterGroup[]): DeadLetterGroup[] {
  const all = new Map<string, DeadLetterGroup>();
  for (const group of groups) {
    const key = `${group.kind} ${withoutValues(group.reason)}`;
    const known = all.get(key);
    if (!known) all.set(key, { ...group });
    else {
      known.count += group.count;
      known.ids = [...known.ids, ...group.ids].slice(0, 20);
      if (group.firstFailedAt < known.firstFailedAt) known.firstFailedAt = group.firstFailedAt;
      if (group.lastFailedAt > known.lastFailedAt) known.lastFailedAt = group.lastFailedAt;
    }
  }
  return [...all.values()].sort((a, b) => b.count - a.count);
}

/**
 * How many dead letters of these kinds are open.
 *
 * @param withinMs only those that failed within the last so many milliseconds, by the warehouse's clock.
 */
export async function countOpenDeadLetters(
  db: Db,
  kinds: readonly DeadLetterKind[],
  withinMs?: number,
): Promise<number> {
  const since = withinMs === undefined ? sql`'-infinity'` : sql`now() - ${withinMs} * interval '1 millisecond'`;
  const { rows } = await sql<{ n: number }>`
    select count(*)::integer as n from sync.dead_letters
    where kind = any(${kinds}) and resolved_at is null and last_failed_at >= ${since}`.execute(db);
  return rows[0]?.n ?? 0;
}

/** Another attempt at the record of a dead letter has failed. */
export async function failAgain(db: Db, id: number, reason: string): Promise<void> {
  await sql`
    update sync.dead_letters set reason = ${mask(reason)}, attempts = attempts + 1, last_failed_at = now(), checked_at = now()
    where id = ${id} and resolved_at is null`.execute(db);
}

/** A stable key for a record without a key. */
export function keyOf(record: unknown): string {
  return `sha256:${createHash('sha256')
    .update(JSON.stringify(record) ?? '')
    .digest('hex')
    .slice(0, 32)}`;
}

/**
 * A value as JSON that jsonb accepts: NUL and lone surrogates, which jsonb refuses, become the six characters of their
 * escape.
 */
export function asStorableJson(payload: unknown): string {
  const json = JSON.stringify(payload) ?? 'null';
  // Hardly any text has such an escape, and the pattern costs as much as the rest of recording an order.
  if (!json.includes('\\u')) return json;
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\(u(?:0000|d[89a-f][0-9a-f]{2}))/g, '$1\\\\$2');
}

export type DeadLetter = {
  id: number;
  kind: DeadLetterKind;
  key: string;
  orderCode: string | null;
  reason: string;
  attempts: number;
  firstFailedAt: Date;
  lastFailedAt: Date;
  resolvedAt: Date | null;
};

/** Without their records, which may be large. */
async function select(db: Db, condition: RawBuilder<unknown>): Promise<DeadLetter[]> {
  const { rows } = await sql<DeadLetter>`
    select id, kind, key, order_code as "orderCode", reason, attempts, first_failed_at as "firstFailedAt",
      last_failed_at as "lastFailedAt", resolved_at as "resolvedAt"
    from sync.dead_letters where ${condition}`.execute(db);
  return rows;
}

/** Dead letters by id, open and resolved, the oldest first. */
export const deadLettersById = (db: Db, ids: readonly number[]) => select(db, sql`id = any(${ids}) order by id`);

/** The open ones, of a kind or all; the oldest first. */
export const openDeadLetters = (db: Db, kind: DeadLetterKind | null = null) =>
  select(db, sql`resolved_at is null and kind = coalesce(${kind}, kind) order by id limit 100000`);

/** The record of a dead letter. */
export async function payloadOf(db: Db, id: number): Promise<unknown> {
  const { rows } = await sql<{ payload: unknown }>`select payload from sync.dead_letters where id = ${id}`.execute(db);
  return rows[0]?.payload;
}

/** The dead letters of one order and of its lines, open and resolved, the oldest first. */
export const deadLettersOfOrder = (db: Db, code: string) =>
  select(db, sql`order_code = ${code} or (kind = 'order' and key = ${code}) order by id`);

/** The dead letters of one record, open and resolved, the oldest first. */
export const deadLettersOf = (db: Db, kind: DeadLetterKind, key: string) =>
  select(db, sql`kind = ${kind} and key = ${key} order by id`);

/**
 * What two responses with the same review may show otherwise: links that are signed again, and fields that only lists
 * show, or only a review alone.
 */
const changingFields = [...expiringFields, ...partialFields, 'comments'];

/** SHA-256 of a payload without `changingFields`, as text; the expression is one of Postgres. */
const payloadHash = (payload: RawBuilder<unknown>) => sql`(
  select encode(sha256(convert_to(
    (case jsonb_typeof(p) when 'object' then p - ${sql.lit(`{${changingFields.join(',')}}`)}::text[] else p end)::text, 'UTF8'
  )), 'hex') from (select ${payload} as p) as payloads
)`;

/** Whether a person has discarded this very record of a review. Remembers that the service still shows it. */
export async function isDiscarded(db: Db, { key, payload }: Pick<NewDeadLetter, 'key' | 'payload'>): Promise<boolean> {
  const hash = payloadHash(sql`${asStorableJson(payload)}::jsonb`);
  const { numAffectedRows = 0n } = await sql`
    update sync.dead_letters set checked_at = now()
    where kind = 'review' and key = ${key} and discarded_hash = ${hash}`.execute(db);
  return numAffectedRows > 0n;
}

/**
 * Closes open dead letters without syncing them. A review stays closed while its record is the same. @returns how many
 * were open.
 */
export async function discardDeadLetters(db: Db, ids: readonly number[]): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update sync.dead_letters
    set resolved_at = now(), discarded_hash = case when kind = 'review' then ${payloadHash(sql`payload`)} end
    where id = any(${ids}) and resolved_at is null`.execute(db);
  return Number(numAffectedRows);
}
