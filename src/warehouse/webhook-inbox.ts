import { sql } from 'kysely';
import { type Db, inTransaction } from './index.ts';

export type Waiting = { id: number; receivedAt: Date; body: string; attempts: number };

/** Keeps the body of a webhook; when this returns, it is durable. Gives its number. */
export async function putWebhook(db: Db, body: string, brandIds: readonly number[]): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into sync.webhook_inbox (body, size, brand_ids)
    values (${body}, ${Buffer.byteLength(body)}, ${brandIds}::bigint[])
    returning id`.execute(db);
  return rows[0]?.id ?? 0;
}

/** Bytes of bodies that are applied at once. */
const bytesAtATime = 16 * 1024 * 1024;

/**
 * Takes what is due, the oldest first, for so many seconds: nobody else takes it meanwhile, and after a crash somebody does.
 */
export function takeWebhooks(db: Db, leaseSeconds: number): Promise<Waiting[]> {
  return inTransaction(db, async (trx) => {
    const { rows } = await sql<{ id: number; size: number }>`
      select id, size from sync.webhook_inbox
      where applied_at is null and due_at <= now()
      order by id
      limit 500
      for update skip locked`.execute(trx);
    let bytes = 0;
    const taken = rows.filter((row, index) => {
      bytes += row.size;
      return index === 0 || bytes <= bytesAtATime;
    });
    if (taken.length === 0) return [];
    const { rows: waiting } = await sql<Waiting>`
      update sync.webhook_inbox
      set attempts = attempts + 1, due_at = now() + ${leaseSeconds} * interval '1 second'
      where id = any(${taken.map((row) => row.id)})
      returning id, received_at as "receivedAt", body, attempts`.execute(trx);
    return waiting.sort((a, b) => a.id - b.id);
  });
}

/** Done: what came is kept no longer than it is of use, the fact that it came for a week. */
export async function finishWebhooks(db: Db, ids: readonly number[]): Promise<void> {
  await sql`
    update sync.webhook_inbox set applied_at = now(), body = null, last_error = null where id = any(${ids})
  `.execute(db);
  await sql`
    delete from sync.webhook_inbox where id in (
      select id from sync.webhook_inbox where applied_at < now() - interval '7 days' limit 1000
    )`.execute(db);
}

/** Not now: to be tried again in so many seconds. */
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

/** The brands of which webhooks came within the last week. */
export async function brandsSeen(db: Db): Promise<number[]> {
  const { rows } = await sql<{ brand: number }>`
    select distinct unnest(brand_ids)::bigint as brand from sync.webhook_inbox order by 1`.execute(db);
  return rows.map((row) => row.brand);
}

/** `waiting`: not applied yet; `oldestAt`: since when. */
export type InboxState = {
  waiting: number;
  oldestAt: Date | null;
  lastReceivedAt: Date | null;
  lastError: string | null;
};

export async function inboxState(db: Db): Promise<InboxState> {
  const { rows } = await sql<InboxState>`
    select
      count(*) filter (where applied_at is null)::integer as waiting,
      min(received_at) filter (where applied_at is null) as "oldestAt",
      max(received_at) as "lastReceivedAt",
      (array_agg(last_error order by id desc) filter (where last_error is not null))[1] as "lastError"
    from sync.webhook_inbox`.execute(db);
  return rows[0] ?? { waiting: 0, oldestAt: null, lastReceivedAt: null, lastError: null };
}
