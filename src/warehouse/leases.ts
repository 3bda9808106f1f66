import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './index.ts';

/** Work under a lease checks it before each step that must not be done by two at once. */
export type GradesLease = {
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
 * Runs `work` under the lease of the member grades: no other process on this warehouse syncs them meanwhile. Waits until
 * the lease is free or expires.
 *
 * @param onWait called once when another process has the lease, with its owner and when it expires.
 */
export async function withGradesLease<T>(
  db: Db,
  work: (lease: GradesLease) => Promise<T>,
  options: { signal?: AbortSignal; onWait?: (holder: { owner: string; until: Date }) => void } = {},
): Promise<T> {
  const owner = newOwner();
  const take = async (condition: RawBuilder<unknown>) => {
    const { rows } = await sql`
      update sync.settings
      set grades_owner = ${owner}, grades_expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
      where ${condition} returning 1`.execute(db);
    return rows.length > 0;
  };
  let hasWaited = false;
  while (!(await take(sql`grades_owner is null or grades_expires_at < clock_timestamp()`))) {
    options.signal?.throwIfAborted();
    const { rows } = await sql<{ owner: string; until: Date }>`
      select grades_owner as owner, grades_expires_at as until from sync.settings where grades_owner is not null`.execute(
      db,
    );
    if (rows[0] && !hasWaited) options.onWait?.(rows[0]);
    hasWaited ||= rows.length > 0;
    await delay(lookAgainMs);
  }
  const renew = async () => {
    if (!(await take(sql`grades_owner = ${owner}`)))
      throw new LeaseLostError('another process took the lease of the member grades');
  };
  try {
    return await work({ renew });
  } finally {
    await sql`
      update sync.settings set grades_owner = null, grades_expires_at = null where grades_owner = ${owner}`.execute(db);
  }
}
