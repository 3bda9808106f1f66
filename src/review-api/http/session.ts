import { sleep } from '../../base/timeout.ts';

/**
 * What the service grants one client id, for all processes that share it. Times are milliseconds since 1970. A field that
 * is absent is not known.
 */
export type Session = {
  token?: string;
  /** When the token is renewed ahead of its end. */
  renewAtMs?: number;
  /** When the service refused a token that it had accepted: at most the last hundred of an hour. */
  refusedAtMs?: readonly number[];
  /** No request is sent before. */
  heldUntilMs?: number;
  heldReason?: string;
};

/** Where a session is kept. With a store of their own, such as a table, processes share one token and one hold. */
export type SessionStore = {
  get(): Promise<Session | undefined>;
  /** Changes these fields; the others stay. */
  set(changed: Session): Promise<void>;
  /** Runs `work` while no other process does. Without it two processes may each obtain a token. */
  alone?<T>(work: (store: Pick<SessionStore, 'get' | 'set'>) => Promise<T>): Promise<T>;
};

/**
 * `isOurs`: this process obtained it. `served`: requests of this process that the service accepted it for; `pending`: those
 * that have no response yet.
 */
export type Token = {
  readonly value: string;
  readonly renewAtMs: number;
  readonly isOurs: boolean;
  served: number;
  pending: number;
};

/** Why requests are held. */
export const askedForFewer = 'the review service asked for fewer requests';

/** How often the store is asked for what other processes have changed, in milliseconds. */
const lookEveryMs = 250;
const hourMs = 3_600_000;
/** A token with fewer uses was probably revoked by another program that does the same: each would revoke the other's. */
const fewUses = 3;
/** The longest wait before another token is obtained: after a token that served some requests, and after one without any. */
const [longestBackoffMs, longestUselessBackoffMs] = [1_000, 60_000];

type SessionOptions = {
  store: SessionStore | undefined;
  stopped: AbortSignal;
  now: () => number;
  /** Called when all requests have to wait. */
  onWait: (forMs: number, reason: string) => void;
};

/** The session of one process: a copy of what the store has, and what this process alone knows. */
export function openSession({ store, stopped, now, onWait }: SessionOptions) {
  let local: Session = {};
  const memory: SessionStore = {
    get: async () => local,
    set: async (changed) => {
      local = { ...local, ...changed };
    },
  };
  const shared = store ?? memory;
  let [current, refused, lived]: (Token | undefined)[] = [];
  let short = 0;
  /** On the monotonic clock: a wall clock that is set back must not hold the requests. */
  let [heldUntilMs, isShared, lookedAtMs, version] = [0, false, Number.NEGATIVE_INFINITY, 0];
  /** `liftedAfterMs`: a request sent later that is carried out ends the hold. `mayProbe`: one may be sent to see that. */
  let [succeededMs, liftedAfterMs, mayProbe] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, false];
  let looking: Promise<void> | undefined;
  const isHeld = () => heldUntilMs > performance.now();

  /** Takes over what other processes have changed. If the store fails, this process goes on with what it knows. */
  async function look(): Promise<void> {
    lookedAtMs = performance.now();
    const before = version;
    const found = await shared.get().catch(() => undefined);
    if (found === undefined || version !== before) return;
    take(found);
    const leftMs = (found.heldUntilMs ?? 0) - now();
    const untilMs = performance.now() + leftMs;
    if (leftMs > 0 && untilMs > heldUntilMs + 1000) {
      [heldUntilMs, isShared, liftedAfterMs, mayProbe] = [untilMs, true, Number.POSITIVE_INFINITY, false];
      onWait(leftMs, found.heldReason ?? askedForFewer);
    } else if (leftMs <= 0 && isShared) heldUntilMs = 0;
  }

  function take({ token: value, renewAtMs = Number.POSITIVE_INFINITY }: Session): void {
    if (value === undefined || value === current?.value || now() >= renewAtMs) return;
    version += 1;
    current = { value, renewAtMs, isOurs: false, served: 0, pending: 0 };
  }

  const token = () => (current && current !== refused && now() < current.renewAtMs ? current : undefined);

  return {
    /** The token; undefined if there is none, or it was refused, or is due for renewal. */
    token,

    /** The service refused the token, so that nobody uses it again. */
    refuse(token: Token): void {
      if (token === current) refused = token;
      // A request that is refused alone says nothing of the others.
      if (token.served + token.pending > 0) lived = token;
    },

    /** How many requests a token serves: as many as the one before, or as this one has served already. */
    lifeInUses: (): number => (lived ? Math.max(1, lived.served, current?.served ?? 0) : Number.POSITIVE_INFINITY),

    /**
     * Replaces the current token by the token of another process, or by a new one from `obtain`, which no two processes
     * call at the same time.
     */
    async renew(obtain: () => Promise<Required<Pick<Session, 'token' | 'renewAtMs'>> | undefined>): Promise<void> {
      const before = current === refused ? refused : undefined;
      const uses = before ? before.served + before.pending : 0;
      short = before?.isOurs && uses < fewUses ? short + 1 : 0;
      if (short > 0) {
        const forMs = Math.min(uses > 0 ? longestBackoffMs : longestUselessBackoffMs, 125 * 2 ** short);
        onWait(forMs, 'the token was revoked soon after it was obtained');
        await sleep(forMs, stopped);
      }
      const work = async (kept: Pick<SessionStore, 'get' | 'set'>) => {
        const found = (await kept.get()) ?? {};
        take(found);
        if (token()) return;
        const got = await obtain();
        if (got === undefined) return;
        version += 1;
        // A token whose end is near as it comes is used until it is refused.
        const renewAtMs = got.renewAtMs > now() ? got.renewAtMs : Number.POSITIVE_INFINITY;
        current = { value: got.token, renewAtMs, isOurs: true, served: 0, pending: 0 };
        const wasAccepted = before !== undefined && (before.served > 0 || !before.isOurs);
        const times = found.refusedAtMs?.filter((at) => at > now() - hourMs) ?? [];
        await kept.set({
          token: got.token,
          renewAtMs,
          refusedAtMs: wasAccepted ? [...times, now()].slice(-100) : times,
        });
      };
      await (shared.alone ? shared.alone(work) : work(shared));
    },

    /**
     * Waits until requests may be sent. `isProbe`: only this one may. `heldUntilMs`: until when none may, if that is more
     * than `longestMs` away.
     */
    async untilFree(longestMs: number, canProbe: boolean): Promise<{ isProbe?: boolean; heldUntilMs?: number }> {
      for (;;) {
        stopped.throwIfAborted();
        if (store && performance.now() - lookedAtMs >= lookEveryMs)
          looking ??= look().finally(() => {
            looking = undefined;
          });
        await looking;
        const leftMs = heldUntilMs - performance.now();
        if (leftMs <= 0) return {};
        if (canProbe && mayProbe) {
          mayProbe = false;
          return { isProbe: true };
        }
        if (leftMs > longestMs) return { heldUntilMs: now() + leftMs };
        await sleep(Math.ceil(Math.min(leftMs, lookEveryMs)), stopped);
      }
    },

    isHeld,

    /**
     * Lets no process send a request for a while. Never shortens a hold. `sentMs`: a request sent later that is carried
     * out ends the hold, since it was about one request only. One request is sent to see that.
     */
    async hold(forMs: number, reason: string, sentMs = Number.POSITIVE_INFINITY): Promise<void> {
      const untilMs = performance.now() + forMs;
      if (untilMs <= heldUntilMs) return;
      // A longer hold of the same kind brings no second probe.
      mayProbe = Number.isFinite(sentMs) && (mayProbe || !isHeld());
      // Each request that was in flight says the same.
      if (untilMs > heldUntilMs + 1000) onWait(forMs, reason);
      [heldUntilMs, isShared, liftedAfterMs] = [untilMs, false, sentMs];
      version += 1;
      isShared = await shared.set({ heldUntilMs: now() + forMs, heldReason: reason }).then(
        () => true,
        () => false,
      );
      version += 1;
    },

    /** A request that was sent at `sentMs`, on the monotonic clock, was carried out. */
    async succeeded(sentMs: number): Promise<void> {
      succeededMs = Math.max(succeededMs, sentMs);
      if (sentMs <= liftedAfterMs || !isHeld()) return;
      heldUntilMs = 0;
      await shared.set({ heldUntilMs: 0 }).catch(() => {});
    },

    /** Whether a request was carried out that was sent after `ms`, on the monotonic clock. */
    hasSucceededSince: (ms: number): boolean => succeededMs > ms,
  };
}
