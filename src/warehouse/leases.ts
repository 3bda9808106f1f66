import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { waitingFor } from '../base/waits.ts';
import type { Db } from './index.ts';

/** Work under a lease checks it before each step that must not be done by two at once. */
export type NamedLease = {
  /** Extends the lease. @throws LeaseLostError when it ran out and another process took it. */
  renew(): Promise<void>;
};

/** The lease ran out while its holder was frozen or cut off, and another process has taken it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Longer than any single request to the service may take. */
const leaseMs = 150_000;
const lookAgainMs = 250;

const machine = hostname();

/** A new holder of a lease: machine, process, and one piece of its work. */
export const newOwner = () => `${machine}:${process.pid}:${randomUUID().slice(24)}`;

/**
 * Runs `work` under a lease: no other process on this warehouse works under the same key meanwhile. Waits until the
 * lease is free or expires.
 *
 * @param onWait called once when another process has the lease, with its owner and when it expires.
 */
export async function withLease<T>(
  db: Db,
  key: string,
  work: (lease: NamedLease) => Promise<T>,
  options: { signal?: AbortSignal; onWait?: (holder: { owner: string; until: Date }) => void } = {},
): Promise<T> {
  const owner = newOwner();
  let hasWaited = false;
  while (!(await takeLease(db, key, owner))) {
    options.signal?.throwIfAborted();
    const holder = hasWaited ? undefined : await holderOf(db, key);
    if (holder) {
      options.onWait?.(holder);
      hasWaited = true;
    }
    await waitingFor('lease', () => delay(lookAgainMs));
  }
  const renew = async () => {
    if (!(await extend(db, key, owner))) throw new LeaseLostError(`another process took the lease of ${key}`);
  };
  try {
    return await work({ renew });
  } finally {
    await db.deleteFrom('sync.leases').where('key', '=', key).where('owner', '=', owner).execute();
  }
}

async function takeLease(db: Db, key: string, owner: string): Promise<boolean> {
  const { rows } = await sql`
    insert into sync.leases as l (key, owner, expires_at)
    values (${key}, ${owner}, clock_timestamp() + ${leaseMs} * interval '1 millisecond')
    on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at
    where l.expires_at < clock_timestamp()
    returning key`.execute(db);
  return rows.length > 0;
}

async function extend(db: Db, key: string, owner: string): Promise<boolean> {
  const { rows } = await sql`
    update sync.leases set expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
    where key = ${key} and owner = ${owner}
    returning key`.execute(db);
  return rows.length > 0;
}

async function holderOf(db: Db, key: string): Promise<{ owner: string; until: Date } | undefined> {
  const row = await db.selectFrom('sync.leases').selectAll().where('key', '=', key).executeTakeFirst();
  return row && { owner: row.owner, until: row.expires_at };
}
