import { sql } from 'kysely';
import { type Db, inTransaction } from './index.ts';

export type WaitingBody = { id: number; receivedAt: Date; body: string; attempts: number };

/** Stores the body of a webhook durably. @returns its id. */
export async function putWebhook(db: Db, body: string, brandIds: readonly number[]): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into sync.webhook_inbox (body, size, brand_ids)
    values (${body}, ${Buffer.byteLength(body)}, ${brandIds}::bigint[])
    returning id`.execute(db);
  return rows[0]?.id ?? 0;
}

/** Limit of the bodies that are applied together, in bytes. */
const bytesAtATime = 16 * 1024 * 1024;

/**
 * Takes the webhooks that are due, the oldest first, under a lease: no other process takes them before it expires.
 * Those that were tried before are taken by themselves, when no new one is due: a record on which the service fails
 * again must not delay new ones.
 */
export function takeWebhooks(db: Db, leaseSeconds: number): Promise<WaitingBody[]> {
  return inTransaction(db, async (trx) => {
    const { rows } = await sql<{ id: number; size: number; isNew: boolean }>`
      select id, size, attempts = 0 as "isNew" from sync.webhook_inbox
      where applied_at is null and due_at <= now()
      order by attempts > 0, id
      limit 500
      for update skip locked`.execute(trx);
    let bytes = 0;
    const alike = rows.filter((row) => row.isNew === rows[0]?.isNew);
    const taken = alike.filter((row, index) => {
      bytes += row.size;
      return index === 0 || bytes <= bytesAtATime;
    });
    if (taken.length === 0) return [];
    const { rows: waiting } = await sql<WaitingBody>`
      update sync.webhook_inbox
      set attempts = attempts + 1, due_at = now() + ${leaseSeconds} * interval '1 second'
      where id = any(${taken.map((row) => row.id)})
      returning id, received_at as "receivedAt", body, attempts`.execute(trx);
    return waiting.sort((a, b) => a.id - b.id);
  });
}

/** Events to try again, as a new webhook. `seconds`: the wait from now. */
export type Leftover = {
  body: string;
  brandIds: readonly number[];
  attempts: number;
  seconds: number;
  error: string;
  receivedAt: Date;
};

/**
 * Closes webhooks and stores their leftovers as new ones, in one transaction. Bodies of closed webhooks are deleted at
 * once, their rows after a week.
 */
export async function finishWebhooks(db: Db, ids: readonly number[], leftovers: readonly Leftover[]): Promise<void> {
  await inTransaction(db, async (trx) => {
    for (const { body, brandIds, attempts, seconds, error, receivedAt } of leftovers) {
      await sql`
        insert into sync.webhook_inbox (received_at, body, size, brand_ids, attempts, due_at, last_error)
        values (${receivedAt}, ${body}, ${Buffer.byteLength(body)}, ${brandIds}::bigint[], ${attempts},
          now() + ${seconds} * interval '1 second', ${error.slice(0, 1000)})`.execute(trx);
    }
    await sql`
      update sync.webhook_inbox set applied_at = now(), body = null, last_error = null where id = any(${ids})
    `.execute(trx);
  });
}

/** Postpones webhooks by this many seconds. */
export async function postponeWebhooks(
  db: Db,
  ids: readonly number[],
  { seconds, error }: { seconds: number; error: string },
): Promise<void> {
  await sql`
    update sync.webhook_inbox
    set due_at = now() + ${seconds} * interval '1 second', last_error = ${error.slice(0, 1000)}
    where id = any(${ids}) and applied_at is null`.execute(db);
}

/** The brands of the webhooks of the last week. */
export async function brandsSeen(db: Db): Promise<number[]> {
  const { rows } = await sql<{ brand: number }>`
    select distinct unnest(brand_ids)::bigint as brand from sync.webhook_inbox order by 1`.execute(db);
  return rows.map((row) => row.brand);
}

/** `waiting`: webhooks that are not applied yet; `oldestAt`: when the oldest of them was received. */
export type InboxState = {
  waiting: number;
  oldestAt: Date | null;
  lastReceivedAt: Date | null;
  lastError: string | null;
};

export async function inboxState(db: Db): Promise<InboxState> {
  const { rows } = await sql<InboxState>`
    select count(*)::integer as waiting, min(received_at) as "oldestAt",
      (select max(received_at) from sync.webhook_inbox) as "lastReceivedAt",
      (array_agg(last_error order by id desc) filter (where last_error is not null))[1] as "lastError"
    from sync.webhook_inbox
    where applied_at is null`.execute(db);
  return rows[0] ?? { waiting: 0, oldestAt: null, lastReceivedAt: null, lastError: null };
}
