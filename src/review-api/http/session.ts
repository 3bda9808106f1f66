import { sleep } from '../../base/timeout.ts';
import { LimitedError } from '../review-api-errors.ts';
import type { Call } from './call.ts';

/** Token and hold of one client id, for all processes with a common store. Times are milliseconds since 1970. */
export type Session = {
  token?: string;
  /** When to renew the token, before it ends (decided by `readToken` in decode.ts). */
  renewAtMs?: number;
  /** Times at which the service refused a token that it had accepted: at most the last hundred of an hour. */
  refusedAtMs?: readonly number[];
  /** No request is sent before this time. */
  heldUntilMs?: number;
  /** `limited`: the service responded with a 429. `failed`: it responded with another failure that names a wait. */
  heldReason?: string;
};

/** The store of a session. With a common store, such as a table, processes share one token and one hold. */
export type SessionStore = {
  get(): Promise<Session | undefined>;
  /** Changes these fields; the others stay. */
  set(changed: Session): Promise<void>;
  /** Runs `work` while no other process does. Without `alone`, two processes may each obtain a token. */
  alone?<T>(work: (store: Pick<SessionStore, 'get' | 'set'>) => Promise<T>): Promise<T>;
};

/** `isOurs`: this process obtained it. `uses`: requests of this process with it, refused ones excepted. */
export type Token = {
  readonly value: string;
  readonly renewAtMs: number;
  readonly isOurs: boolean;
  isRefused: boolean;
  uses: number;
};

/** `onWait` is called when all requests have to wait. */
type SessionDeps = { stopped: AbortSignal; now: () => number; onWait: (forMs: number, reason: string) => void };

/** How often to read the changes of other processes from the store, in milliseconds. */
const lookEveryMs = 250;
const hourMs = 3_600_000;
/** A longer `Retry-After` counts as this long. */
export const longestHoldMs = 24 * hourMs;
/** If a refused token had fewer uses, another program probably revoked it: each program revokes the other's tokens. */
const fewUses = 3;
/** The longest wait before another token is obtained, after a token with some uses, and after a token without any. */
const longestBackoffMs = 1_000;
const longestUselessBackoffMs = 60_000;

export type OpenSession = ReturnType<typeof openSession>;

/**
 * The session of one process: a copy of the store, and what only this process knows. `heldUntilMs` is on the monotonic
 * clock: if the wall clock is set back, requests must not be held.
 */
export function openSession(store: SessionStore | undefined, deps: SessionDeps) {
  const never = Number.NEGATIVE_INFINITY;
  const kept: Session = {};
  const inMemory = { get: async () => kept, set: async (changed: Session) => void Object.assign(kept, changed) };
  return {
    ...deps,
    store: store ?? (inMemory as SessionStore),
    /** Whether other processes may change the store. */
    isShared: store !== undefined,
    token: undefined as Token | undefined,
    /** The number of tokens in a row with fewer than `fewUses` uses. */
    shortLived: 0,
    heldUntilMs: never,
    lookedAtMs: never,
    looking: undefined as Promise<void> | undefined,
    /** The number of changes begun or ended. A read during a change may be out of date. */
    changes: 0,
  };
}

/**
 * Takes over the changes of other processes. If the store fails, this process goes on with what it knows.
 *
 * @returns undefined if there is nothing to wait for.
 */
export function look(session: OpenSession): Promise<void> | undefined {
  const nowMs = performance.now();
  if (session.isShared && !session.looking && nowMs - session.lookedAtMs >= lookEveryMs) {
    session.lookedAtMs = nowMs;
    const { changes } = session;
    const take = (found?: Session) => (session.changes === changes ? takeOver(session, found ?? {}) : undefined);
    const looking = session.store.get().then(take, () => {});
    session.looking = looking.finally(() => {
      session.looking = undefined;
    });
  }
  return session.looking;
}

/** Changes the session, alone among all processes if the store has `alone`. @param decide gets the store's state. */
async function change(
  session: OpenSession,
  decide: (found: Session) => Promise<Session | undefined> | Session | undefined,
): Promise<void> {
  const { store } = session;
  const work = async (kept: Pick<SessionStore, 'get' | 'set'>) => {
    const found = (await kept.get()) ?? {};
    const changed = await decide(found);
    if (changed) await kept.set(changed);
    takeOver(session, { ...found, ...changed });
  };
  session.changes += 1;
  try {
    await (store.alone ? store.alone(work) : work(store));
  } finally {
    session.changes += 1;
  }
}

function takeOver(session: OpenSession, found: Session): void {
  const { token: value, heldUntilMs = 0, heldReason } = found;
  // JSON has no Infinity: a store that keeps JSON returns null.
  const renewAtMs = found.renewAtMs ?? Number.POSITIVE_INFINITY;
  if (value !== undefined && value !== session.token?.value && session.now() < renewAtMs) {
    session.token = { value, renewAtMs, isOurs: false, isRefused: false, uses: 0 };
  }
  const nowMs = performance.now();
  const untilMs = nowMs + heldUntilMs - session.now();
  // All requests in flight meet the same hold. It is reported once.
  if (untilMs > Math.max(nowMs, session.heldUntilMs + 1000)) session.onWait(untilMs - nowMs, holdText(heldReason));
  session.heldUntilMs = untilMs;
}

/** The token; undefined before the first one, after a refusal, or if it is due for renewal. */
export const validToken = ({ token, now }: OpenSession): Token | undefined =>
  token && !token.isRefused && now() < token.renewAtMs ? token : undefined;

/** Replaces the token by another process's, or by a new one from `obtain`, which one process at a time calls. */
export async function renewToken(
  session: OpenSession,
  obtain: () => Promise<Required<Pick<Session, 'token' | 'renewAtMs'>> | undefined>,
): Promise<void> {
  const { now } = session;
  const before = session.token?.isRefused ? session.token : undefined;
  await waitAfterToken(session, before);
  await change(session, async (found) => {
    takeOver(session, found);
    if (validToken(session)) return undefined;
    const got = await obtain();
    if (!got) return undefined;
    // If a new token is already near its end, it is used until it is refused.
    const renewAtMs = got.renewAtMs > now() ? got.renewAtMs : Number.POSITIVE_INFINITY;
    session.token = { value: got.token, renewAtMs, isOurs: true, isRefused: false, uses: 0 };
    const wasAccepted = before !== undefined && (before.uses > 0 || !before.isOurs);
    const times = found.refusedAtMs?.filter((at) => at > now() - hourMs) ?? [];
    return { token: got.token, renewAtMs, refusedAtMs: wasAccepted ? [...times, now()].slice(-100) : times };
  });
}

/** If two programs revoke each other's tokens, lets the other program use its token for a while. */
async function waitAfterToken(session: OpenSession, before: Token | undefined): Promise<void> {
  session.shortLived = before?.isOurs && before.uses < fewUses ? session.shortLived + 1 : 0;
  if (session.shortLived === 0) return;
  const longestMs = before && before.uses > 0 ? longestBackoffMs : longestUselessBackoffMs;
  const forMs = Math.min(longestMs, 125 * 2 ** session.shortLived);
  session.onWait(forMs, 'the token was revoked soon after it was obtained');
  await sleep(forMs, session.stopped);
}

/** The words for the reason of a hold, for people. */
export const holdText = (reason: string | null | undefined): string =>
  reason === 'failed'
    ? 'the review service failed on a request and asked to wait'
    : 'the review service asked for fewer requests';

export const isHeld = (session: OpenSession): boolean => session.heldUntilMs > performance.now();

/** Waits until the call may be sent. @throws LimitedError if it would wait longer than `longestMs`. */
export async function untilFree(session: OpenSession, { method, path }: Call, longestMs: number): Promise<void> {
  for (;;) {
    session.stopped.throwIfAborted();
    const looking = look(session);
    if (looking) await looking;
    const leftMs = session.heldUntilMs - performance.now();
    if (leftMs <= 0) return;
    if (leftMs > longestMs) {
      // The time comes from two clocks, so it may be a millisecond off.
      const until = new Date(Math.ceil((session.now() + leftMs - 1) / 1000) * 1000);
      throw new LimitedError({ method, path, detail: `no request may be sent before ${until.toISOString()}` });
    }
    await sleep(Math.ceil(Math.min(leftMs, lookEveryMs)), session.stopped);
  }
}

/** Stops the requests of all processes for a while. Never shortens a hold. */
export async function hold(session: OpenSession, forMs: number, reason: string): Promise<void> {
  const held = { heldUntilMs: session.now() + Math.min(forMs, longestHoldMs), heldReason: reason };
  takeOver(session, held);
  await change(session, ({ heldUntilMs = 0 }) => (heldUntilMs < held.heldUntilMs ? held : undefined)).catch(() => {});
}
