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
    .set({ resolved_at: new Date() })
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
      eb.fn.min('first_failed_at').as('firstFailedAt'),
      eb.fn.max('last_failed_at').as('lastFailedAt'),
    ])
    .orderBy('count', 'desc')
    .execute();
  return rows;
}

export async function countOpenDeadLetters(db: Db): Promise<number> {
  const row = await db
    .selectFrom('sync.dead_letters')
    .where('resolved_at', 'is', null)
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

/** jsonb cannot hold the character NUL, which is often the very reason why the record is here. */
function storable(payload: unknown): string {
  return (JSON.stringify(payload) ?? 'null').replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\\\u0000');
}

/** Closes an order's letters: the order's own where it went through, and those of all its lines but some. */
export async function resolveOrderLetters(
  db: Db,
  orderCode: string,
  healed: { order: boolean; linesExcept: readonly string[] },
): Promise<void> {
  if (healed.order) await resolveDeadLetters(db, 'order', [orderCode]);
  await sql`
    update sync.dead_letters set resolved_at = now()
    where kind = 'order_line' and resolved_at is null
      and starts_with(key, ${`${orderCode}/`}) and key <> all(${healed.linesExcept})
  `.execute(db);
}

/** Codes of the orders that have an open letter, their own or a line's, the oldest first. */
export async function openOrderLetters(db: Db): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select coalesce(payload ->> 'order_code', payload -> 'order' ->> 'code', split_part(key, '/', 1)) as code
    from sync.dead_letters
    where kind in ('order', 'order_line') and resolved_at is null
    group by 1
    order by min(first_failed_at), 1`.execute(db);
  return rows.map((row) => row.code);
}

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
