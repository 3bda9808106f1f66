import { openHolds } from './holds.ts';
import { openTokens } from './tokens.ts';

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
  /** A `HoldReason`. */
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

export type SessionDeps = {
  /** Changes the session while no other process does. */
  alone: (work: (store: Pick<SessionStore, 'get' | 'set'>) => Promise<void>) => Promise<void>;
  stopped: AbortSignal;
  now: () => number;
  /** Called when all requests have to wait. */
  onWait: (forMs: number, reason: string) => void;
};

/** How often the store is asked for what other processes have changed, in milliseconds. */
const lookEveryMs = 250;

export type OpenSession = ReturnType<typeof openSession>;

/** The session of one process: a copy of what the store has, and what this process alone knows. */
export function openSession({ store, ...deps }: Omit<SessionDeps, 'alone'> & { store: SessionStore | undefined }) {
  const shared = store ?? inMemory();
  const alone: SessionDeps['alone'] = (work) => (shared.alone ? shared.alone(work) : work(shared));
  const tokens = openTokens({ ...deps, alone });
  const holds = openHolds({ ...deps, alone }, look, lookEveryMs);
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  /** Takes over what other processes have changed. If the store fails, this process goes on with what it knows. */
  async function look(): Promise<void> {
    const askedMs = performance.now();
    if (store && !looking && askedMs - lookedAtMs >= lookEveryMs) {
      lookedAtMs = askedMs;
      const take = (found: Session = {}) => {
        tokens.takeToken(found);
        holds.takeHold(found, askedMs);
      };
      looking = store
        .get()
        .then(take, () => {})
        .finally(() => {
          looking = undefined;
        });
    }
    await looking;
  }

  return { ...tokens, ...holds, look };
}

function inMemory(): SessionStore {
  let kept: Session = {};
  return {
    get: async () => kept,
    set: async (changed) => {
      kept = { ...kept, ...changed };
    },
  };
}
