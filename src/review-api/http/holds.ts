import { sleep } from '../../base/timeout.ts';
import { LimitedError } from '../review-api-errors.ts';
import type { Call } from './call.ts';
import type { Session, SessionDeps } from './session.ts';

/**
 * Why requests are held. `limited`: a 429. `failed`: another failure that names a wait, which may be about one record only:
 * one process sends one other request to see. `probed`: that request was sent.
 */
export type HoldReason = 'limited' | 'failed' | 'probed';

/** The words for a reason, for people. A store may hold a reason of another version. */
export function holdText(reason: string | null | undefined): string {
  if (reason === 'failed' || reason === 'probed') return 'the review service failed on a request and asked to wait';
  return reason === 'limited' || !reason ? 'the review service asked for fewer requests' : reason;
}

/** A hold is a ban unless it is known to be another one. */
const reasonOf = ({ heldReason }: Session): HoldReason =>
  heldReason === 'failed' || heldReason === 'probed' ? heldReason : 'limited';

/** A hold that becomes longer has the newer reason, but a second failure brings no second request to see. */
const longer = (before: HoldReason | undefined, why: 'limited' | 'failed'): HoldReason =>
  before === 'probed' && why === 'failed' ? 'probed' : why;

/**
 * The holds of one process: a copy of what the store has. What a hold becomes is decided from what the store has, while no
 * other process changes it.
 *
 * @param look takes over what other processes have changed, from time to time.
 */
export function openHolds(
  { alone, stopped, now, onWait }: SessionDeps,
  look: () => Promise<void>,
  lookEveryMs: number,
) {
  /** On the monotonic clock: a wall clock that is set back must not hold the requests. */
  const never = Number.NEGATIVE_INFINITY;
  let [untilMs, changedMs, succeededMs] = [never, never, never];
  /** `isShared`: the store has the hold. `liftedAfterMs`: a request sent later that is carried out ends the hold. */
  let [reason, isShared, liftedAfterMs]: [HoldReason, boolean, number] = ['limited', false, Number.POSITIVE_INFINITY];
  const isHeld = () => untilMs > performance.now();

  /** If the store fails, this process goes on with what it knows. @returns whether the store has decided. */
  async function change(decide: (found: Session) => Session | undefined): Promise<boolean> {
    const work = alone(async (kept) => {
      const changed = decide((await kept.get()) ?? {});
      if (changed) await kept.set(changed);
    });
    isShared = await work.then(
      () => true,
      () => false,
    );
    changedMs = performance.now();
    return isShared;
  }

  /** Whether this process sends the one request that shows whether the hold was about one record only. */
  async function takeProbe(): Promise<boolean> {
    reason = 'probed';
    let isOurs = false;
    const isDecided = await change((found) => {
      isOurs = (found.heldUntilMs ?? 0) > now() && reasonOf(found) === 'failed';
      return isOurs ? { heldUntilMs: found.heldUntilMs ?? 0, heldReason: 'probed' } : undefined;
    });
    if (isOurs || !isDecided) liftedAfterMs = Math.min(liftedAfterMs, performance.now());
    return isOurs || !isDecided;
  }

  return {
    isHeld,

    /** Takes over the hold of the store, as it was at `askedMs` on the monotonic clock. */
    takeHold(found: Session, askedMs: number): void {
      if (askedMs < changedMs) return;
      const leftMs = (found.heldUntilMs ?? 0) - now();
      if (leftMs <= 0) {
        if (isShared) untilMs = never;
        return;
      }
      const endMs = performance.now() + leftMs;
      if (endMs > untilMs + 1000) {
        onWait(leftMs, holdText(found.heldReason));
        [untilMs, isShared, liftedAfterMs] = [endMs, true, Number.POSITIVE_INFINITY];
      }
      reason = reasonOf(found);
    },

    /**
     * Waits until the call may be sent.
     *
     * @param canProbe whether the call may be the one that shows whether the hold is about one record only.
     * @returns whether it is that call: then no other call may be sent.
     * @throws LimitedError if it would wait longer than `longestMs`.
     */
    async untilFree({ method, path }: Call, longestMs: number, canProbe: boolean): Promise<boolean> {
      for (;;) {
        stopped.throwIfAborted();
        await look();
        const leftMs = untilMs - performance.now();
        if (leftMs <= 0) return false;
        if (canProbe && reason === 'failed' && (await takeProbe())) return true;
        if (leftMs > longestMs) {
          // Two clocks have been read: a millisecond more proves nothing.
          const until = new Date(Math.ceil((now() + leftMs - 1) / 1000) * 1000);
          throw new LimitedError({ method, path, detail: `no request may be sent before ${until.toISOString()}` });
        }
        await sleep(Math.ceil(Math.min(leftMs, lookEveryMs)), stopped);
      }
    },

    /** The one request showed nothing, since it was not sent, or has no response: another one may be sent to see. */
    async giveProbeBack(): Promise<void> {
      if (reason !== 'probed' || !isHeld()) return;
      reason = 'failed';
      await change((found) =>
        reasonOf(found) === 'probed' ? { heldUntilMs: found.heldUntilMs ?? 0, heldReason: 'failed' } : undefined,
      );
    },

    /**
     * Lets no process send a request for a while. Never shortens a hold. `sentMs`: when the request was sent that is the
     * reason, on the monotonic clock.
     */
    async hold(forMs: number, why: 'limited' | 'failed', sentMs: number): Promise<void> {
      const endMs = performance.now() + forMs;
      if (endMs <= untilMs) return;
      // Each request that was in flight says the same.
      if (endMs > untilMs + 1000) onWait(forMs, holdText(why));
      reason = longer(isHeld() ? reason : undefined, why);
      untilMs = endMs;
      liftedAfterMs = reason === 'limited' ? Number.POSITIVE_INFINITY : sentMs;
      isShared = false;
      await change((found) => {
        const [before = 0, until] = [found.heldUntilMs, now() + forMs];
        if (before >= until) return undefined;
        return { heldUntilMs: until, heldReason: longer(before > now() ? reasonOf(found) : undefined, why) };
      });
    },

    /** A request that was sent at `sentMs`, on the monotonic clock, was carried out: a failure was about one record. */
    async succeeded(sentMs: number): Promise<void> {
      succeededMs = Math.max(succeededMs, sentMs);
      if (sentMs <= liftedAfterMs || !isHeld()) return;
      untilMs = never;
      await change((found) => (reasonOf(found) === 'limited' ? undefined : { heldUntilMs: 0 }));
    },

    /** Whether a request was carried out that was sent after `ms`, on the monotonic clock. */
    hasSucceededSince: (ms: number): boolean => succeededMs > ms,
  };
}
