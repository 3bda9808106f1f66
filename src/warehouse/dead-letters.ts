import { type RawBuilder, sql } from 'kysely';
import { asStorableJson } from '../base/json-text.ts';
import { mask, privateTextsOf } from '../base/mask.ts';
import { type Db, listOf, rowOf, rowsOf, scalarOf, valuesOf, write } from './index.ts';

export type DeadLetterKind = 'order' | 'order_line' | 'category' | 'user_grade' | 'review' | 'webhook';

export type NewDeadLetter = {
  kind: DeadLetterKind;
  /** The record's key. Without one: `contentKey` of the record. */
  key: string;
  /** The code of the order, or of the order that the record belongs to. */
  orderCode?: string | undefined;
  reason: string;
  payload: unknown;
  /** The parent of the record, such as a line's order: the reason may quote its customer. Not stored. */
  partOf?: unknown;
};

/**
 * The reason without values of the customer's columns (promise 9): the service may quote a request. The reason of a
 * webhook quotes nothing, and its sender could make masking slow.
 */
export const maskedReason = ({ kind, reason, payload, partOf }: NewDeadLetter) =>
  kind === 'webhook' ? reason : mask(reason, privateTextsOf([payload, partOf]));

/**
 * Stores records that could not be synced. A dead letter that a person has discarded stays closed until the record is
 * synced or fails for another reason. If two records have one key, the last is stored.
 *
 * @returns how many of these dead letters are open.
 */
export async function putDeadLetters(db: Db, deadLetters: readonly NewDeadLetter[]): Promise<number> {
  if (deadLetters.length === 0) return 0;
  const given = new Map(
    deadLetters.map((one) => [`${one.kind} ${one.key}`, { ...one, partOf: undefined, reason: maskedReason(one) }]),
  );
  const [row] = await rowsOf<{ n: number }>(db, 'put_dead_letters', asStorableJson([...given.values()]));
  return row?.n ?? 0;
}

/** The last attempt failed: the dead letter is open, or a person has discarded it. */
const isFailing = sql`(resolved_at is null or is_discarded)`;

/** Closes the open dead letters of a kind that meet the condition. Discarded ones no longer count as discarded. */
const close = (db: Db, kind: DeadLetterKind, condition: RawBuilder<unknown>) => write(db)`
  update sync.dead_letters set resolved_at = coalesce(resolved_at, now()), is_discarded = false
  where kind = ${kind} and ${isFailing} and ${condition}`;

/** Closes the dead letters of these records, which were synced. */
export const resolveDeadLetters = (db: Db, kind: DeadLetterKind, keys: readonly string[]) =>
  close(db, kind, sql`key = any(${keys})`);

/** Closes the dead letters of a kind that was synced as a whole, except for the records that failed again. */
export const resolveDeadLettersExcept = (db: Db, kind: DeadLetterKind, failing: readonly NewDeadLetter[]) =>
  close(db, kind, sql`key <> all(${failing.map(({ key }) => key)})`);

/** Closes dead letters of reviews that did not fail again since `at`: no list showed them, and no id leads to them. */
export const closeUnseenReviews = (db: Db, at: Date) => close(db, 'review', sql`last_failed_at < ${at}`);

export type DeadLetterGroup = {
  kind: DeadLetterKind;
  reason: string;
  count: number;
  ids: number[];
  /** Their order codes or keys, in the order of `ids`. */
  records: string[];
  firstFailedAt: Date;
  lastFailedAt: Date;
};

/** The start of the reason, without quoted texts and numbers of four or more digits. A status has three. */
const reasonWithoutValues = sql`regexp_replace(
  regexp_replace(left(reason, 2000), '"(?:[^"\\\\]|\\\\.)*"', '"…"', 'g'), '\\d{4,}[\\d.:TZ+-]*', '…', 'g')`;

/** Open dead letters by kind and by reason without its values. Each group shows one. Most frequent first. */
export const groupDeadLetters = (db: Db) =>
  listOf<DeadLetterGroup>(db)`
    select kind, min(reason) as reason, count(*) as count, (array_agg(id order by id))[1:20]::integer[] as ids,
      (array_agg(coalesce('order ' || order_code, key) order by id))[1:20]::text[] as records,
      min(first_failed_at) as "firstFailedAt", max(last_failed_at) as "lastFailedAt"
    from sync.dead_letters where resolved_at is null
    group by kind, ${reasonWithoutValues} order by count desc, min(id)`;

export const countOpenWebhooks = (db: Db) =>
  scalarOf<number>(db)`select count(*) from sync.dead_letters where kind = 'webhook' and resolved_at is null`;

/**
 * Open dead letters at the end of a run. `counted`: dead letters that make it incomplete. `ofRun`: dead letters that
 * failed since it began. `removalsHeld`: orders and sub-orders that should be removed but stay, because the allowance
 * is used up.
 */
export type DeadLettersAtEnd = Record<'counted' | 'ofRun' | 'removalsHeld', number>;

/** @param since only dead letters that failed since then are `counted`; undefined: all. */
export function deadLettersAtEnd(
  db: Db,
  kinds: readonly DeadLetterKind[],
  runStartedAt: Date,
  since: Date | undefined,
): Promise<DeadLettersAtEnd> {
  return rowOf<DeadLettersAtEnd>(db)`
    select count(*) filter (where last_failed_at >= ${since ?? '-infinity'})::integer as counted,
      count(*) filter (where last_failed_at >= ${runStartedAt})::integer as "ofRun",
      coalesce(sum((payload ->> 'removals_held')::integer) filter (where kind = 'order'), 0)::integer as "removalsHeld"
    from sync.dead_letters where kind = any(${kinds}) and resolved_at is null`;
}

/** Opens discarded dead letters again. A webhook keeps no record to retry. */
export const reopenDiscarded = (db: Db, ids: readonly number[]) => write(db)`
  update sync.dead_letters set resolved_at = null, is_discarded = false
  where id = any(${ids}) and is_discarded and kind <> 'webhook'`;

/** Another attempt at the record of a dead letter has failed. @param reason as `describeError` gives it, masked. */
export const failAgain = (db: Db, id: number, reason: string) => write(db)`
  update sync.dead_letters set reason = ${reason}, attempts = attempts + 1, last_failed_at = now()
  where id = ${id} and resolved_at is null`;

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
  isDiscarded: boolean;
};

/** Selects dead letters without their payloads, which may be large. */
const select = (db: Db, condition: RawBuilder<unknown>) =>
  listOf<DeadLetter>(db)`
    select id, kind, key, order_code as "orderCode", reason, attempts, first_failed_at as "firstFailedAt",
      last_failed_at as "lastFailedAt", resolved_at as "resolvedAt", is_discarded as "isDiscarded"
    from sync.dead_letters where ${condition}`;

/** Dead letters by id, open and resolved, the oldest first. */
export const deadLettersById = (db: Db, ids: readonly number[]) => select(db, sql`id = any(${ids}) order by id`);

/** Open dead letters of a kind, or of all kinds, the oldest first. */
export const openDeadLetters = (db: Db, kind: DeadLetterKind | null = null) =>
  select(db, sql`resolved_at is null and kind = coalesce(${kind}, kind) order by id limit 100000`);

/** The keys of a kind's records that failed at the last attempt, also discarded ones. */
export const failingKeys = async (db: Db, kind: DeadLetterKind) =>
  new Set(await valuesOf<string>(db)`select key from sync.dead_letters where kind = ${kind} and ${isFailing}`);

/** The record of a dead letter. */
export const payloadOf = async (db: Db, id: number) =>
  (await valuesOf<unknown>(db)`select payload from sync.dead_letters where id = ${id}`)[0];

/** The dead letters of one order and its lines, open and resolved, the oldest first. */
export const deadLettersOfOrder = (db: Db, code: string) => select(db, sql`order_code = ${code} order by id`);

/** The dead letters of one record, open and resolved, the oldest first. */
export const deadLettersOf = (db: Db, kind: DeadLetterKind, key: string) =>
  select(db, sql`kind = ${kind} and key = ${key} order by id`);

/** Closes open dead letters without syncing them. @returns how many were open. */
export const discardDeadLetters = (db: Db, ids: readonly number[]) =>
  write(db)`
    update sync.dead_letters set resolved_at = now(), is_discarded = true
    where id = any(${ids}) and resolved_at is null`;
