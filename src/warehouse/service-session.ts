import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { ConnectedService } from './connected-service.ts';
import { type Db, firstOf, rowOf, write } from './index.ts';

type Session = {
  token?: string;
  renewAtMs?: number;
  refusedAtMs?: readonly number[];
  heldUntilMs?: number;
  heldReason?: string;
};

/**
 * The session with the service that all processes of a client id share: a row of sync.service_session. It uses the
 * warehouse's clock, so machines with different clocks hold requests alike.
 *
 * @param secret the client secret. A key that is derived from the secret encrypts the token.
 */
export function openServiceSession(db: Db, service: ConnectedService, secret: string, now = Date.now) {
  const key = Buffer.from(hkdfSync('sha256', secret, service.address, 'review-sync token', 32));
  const ofService = sql`(service_address, service_client) = (${service.address}, ${service.client})`;
  const ensureRow = () => write(db)`
    insert into sync.service_session (service_address, service_client)
    values (${service.address}, ${service.client}) on conflict do nothing`;
  /** Null for never. */
  const inWarehouseTime = (ms: number) =>
    ms > 0 && Number.isFinite(ms) ? sql`clock_timestamp() + make_interval(secs => ${(ms - now()) / 1000})` : sql`null`;

  const on = (connection: Db) => ({
    async get(): Promise<Session | undefined> {
      const row = await firstOf<SessionRow>(connection)`
        select token, renew_at as "renewAt", refused_at as "refusedAt", held_until as "heldUntil",
          held_reason as "heldReason", clock_timestamp() as "readAt"
        from sync.service_session where ${ofService}`;
      return row && sessionOf(row, key, now());
    },

    async set({ token, renewAtMs = Number.POSITIVE_INFINITY, refusedAtMs = [], heldUntilMs, heldReason }: Session) {
      if (connection === db) await ensureRow();
      if (token !== undefined) {
        const msAgo = refusedAtMs.map((at) => now() - at);
        await write(connection)`
          update sync.service_session set token = ${encrypted(token, key)}, obtained_at = clock_timestamp(),
            renew_at = ${inWarehouseTime(renewAtMs)}, refused_at = array(
              select clock_timestamp() - make_interval(secs => ms / 1000) from unnest(${msAgo}::float8[]) ms)
          where ${ofService}`;
      }
      if (heldUntilMs === undefined) return;
      await write(connection)`
        update sync.service_session set held_until = ${inWarehouseTime(heldUntilMs)}, held_reason = ${heldReason ?? null}
        where ${ofService}`;
    },
  });

  return {
    ...on(db),
    async alone<T>(work: (store: ReturnType<typeof on>) => Promise<T>): Promise<T> {
      await ensureRow();
      return db.transaction().execute(async (trx) => {
        await write(trx)`select from sync.service_session where ${ofService} for update`;
        return work(on(trx));
      });
    },
  };
}

type SessionRow = Record<'renewAt' | 'heldUntil', Date | null> & {
  token: Buffer | null;
  refusedAt: Date[];
  heldReason: string | null;
  readAt: Date;
};

/** @param nowMs by the clock of this machine. */
function sessionOf({ heldReason, ...row }: SessionRow, key: Buffer, nowMs: number): Session {
  const here = (date: Date) => date.getTime() - row.readAt.getTime() + nowMs;
  const token = row.token === null ? undefined : decrypted(row.token, key);
  return {
    ...(token !== undefined && { token, renewAtMs: row.renewAt ? here(row.renewAt) : Number.POSITIVE_INFINITY }),
    ...(row.heldUntil && { heldUntilMs: here(row.heldUntil) }),
    ...(heldReason !== null && { heldReason }),
    refusedAtMs: row.refusedAt.map(here),
  };
}

/** AES-256-GCM: 12 random bytes, the tag, the encrypted text. */
function encrypted(text: string, key: Buffer): Buffer {
  const start = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, start);
  const bytes = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([start, cipher.getAuthTag(), bytes]);
}

/** Undefined if it was encrypted by another key. */
function decrypted(bytes: Buffer, key: Buffer): string | undefined {
  try {
    const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(12, 28));
    return cipher.update(bytes.subarray(28), undefined, 'utf8') + cipher.final('utf8');
  } catch {
    return undefined;
  }
}

/** The session's state for a person: until when requests are held, and how often its token was refused. */
export const sessionState = (db: Db, { address, client }: ConnectedService) =>
  rowOf<{ heldUntil: Date | null; heldReason: string | null; refusedInHour: number }>(db)`
    select max(held_until) filter (where held_until > clock_timestamp()) as "heldUntil", max(held_reason) as "heldReason",
      coalesce(sum((select count(*) from unnest(refused_at) at where at > clock_timestamp() - interval '1 hour')), 0)::integer
        as "refusedInHour"
    from sync.service_session where (service_address, service_client) = (${address}, ${client})`;
