import { sleep } from '../../base/timeout.ts';
import type { Outcome } from './outcome.ts';
import type { Session, SessionDeps } from './session.ts';

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

type TokenAndEnd = Required<Pick<Session, 'token' | 'renewAtMs'>>;

const hourMs = 3_600_000;
/** A token with fewer uses was probably revoked by another program that does the same: each would revoke the other's. */
const fewUses = 3;
/** The longest wait before another token is obtained: after a token that served some requests, and after one without any. */
const [longestBackoffMs, longestUselessBackoffMs] = [1_000, 60_000];

/** The token of one process: a copy of what the store has, and how the service takes it. */
export function openTokens({ alone, stopped, now, onWait }: SessionDeps) {
  let [current, refused, lived]: (Token | undefined)[] = [];
  let short = 0;
  const token = () => (current && current !== refused && now() < current.renewAtMs ? current : undefined);

  function takeToken({ token: value, renewAtMs = Number.POSITIVE_INFINITY }: Session): void {
    if (value === undefined || value === current?.value || value === refused?.value || now() >= renewAtMs) return;
    current = { value, renewAtMs, isOurs: false, served: 0, pending: 0 };
  }

  return {
    /** The token; undefined if nobody has one, or it was refused, or is due for renewal. */
    token,

    /** Takes over the token of the store. */
    takeToken,

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
     * call at the same time. @returns what `obtain` returned, if it was called.
     */
    async renew<Sent extends { outcome: Outcome<TokenAndEnd> }>(
      obtain: () => Promise<Sent>,
    ): Promise<Sent | undefined> {
      let sent: Sent | undefined;
      const before = current === refused ? refused : undefined;
      const uses = before ? before.served + before.pending : 0;
      short = before?.isOurs && uses < fewUses ? short + 1 : 0;
      if (short > 0) {
        const forMs = Math.min(uses > 0 ? longestBackoffMs : longestUselessBackoffMs, 125 * 2 ** short);
        onWait(forMs, 'the token was revoked soon after it was obtained');
        await sleep(forMs, stopped);
      }
      await alone(async (kept) => {
        const found = (await kept.get()) ?? {};
        takeToken(found);
        if (token()) return;
        sent = await obtain();
        if (sent.outcome.kind !== 'success') return;
        const got = sent.outcome.value;
        // A token whose end is near as it comes is used until it is refused.
        const renewAtMs = got.renewAtMs > now() ? got.renewAtMs : Number.POSITIVE_INFINITY;
        current = { value: got.token, renewAtMs, isOurs: true, served: 0, pending: 0 };
        const wasAccepted = before !== undefined && (before.served > 0 || !before.isOurs);
        const times = found.refusedAtMs?.filter((at) => at > now() - hourMs) ?? [];
        const refusedAtMs = wasAccepted ? [...times, now()].slice(-100) : times;
        await kept.set({ token: got.token, renewAtMs, refusedAtMs });
      });
      return sent;
    },
  };
}
