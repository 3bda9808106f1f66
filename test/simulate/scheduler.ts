import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { createRandom, type Random } from '../../src/sandbox/sample-shop/random.ts';

/** A simulated process: everything that runs in its context waits for the scheduler. */
export type Process = {
  readonly name: string;
  readonly scheduler: Scheduler;
  /** A dead process: none of its pending awaits ever goes on. */
  isDead: boolean;
  /** Until then nothing of the process goes on, as after SIGSTOP. */
  frozenUntilMs: number;
  /** How far the clock of its machine is ahead. */
  clockErrorMs: number;
};

type Action = { atMs: number; place: number; process: Process | undefined; run(): unknown };

export type Scheduler = ReturnType<typeof createScheduler>;

/** Which process the running code belongs to; undefined: the simulator itself. */
export const here = new AsyncLocalStorage<Process>();

const real = { setTimeout, setInterval, clearTimeout, clearInterval, setImmediate, Date, random: Math.random };
export const realDelay = (ms: number) =>
  new Promise<undefined>((resolve) => real.setTimeout(() => resolve(undefined), ms));
export const realNow = performance.now.bind(performance);

/**
 * A small world takes 1,500. If four processes wait seven minutes for an order in the hands of another, they take
 * 23,000.
 */
export const stepsADay = 40_000;

/**
 * Runs one thing after the other: a statement, the arrival of a request, a response, a timer. Each has a moment of
 * virtual time, most with a random delay, so the seed decides the order. Time stands still while something runs. When
 * nothing is left to do at one moment, time jumps to the next.
 *
 * @param mostSteps after so many steps a world fails: it would not end.
 */
export function createScheduler(seed: number, startMs: number, mostSteps = stepsADay) {
  const random: Random = createRandom(seed);
  const queue: Action[] = [];
  const story: string[] = [];
  let nowMs = startMs;
  let places = 0;
  let steps = 0;
  let turns: Promise<unknown> = Promise.resolve();

  function insert(action: Action): void {
    let [low, high] = [0, queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = queue[middle] as Action;
      if (other.atMs < action.atMs || (other.atMs === action.atMs && other.place < action.place)) low = middle + 1;
      else high = middle;
    }
    queue.splice(low, 0, action);
  }

  function tell(text: string, process = here.getStore()): void {
    const at = new real.Date(nowMs).toISOString().slice(5, 23).replace('T', ' ');
    story.push(`${at} ${(process?.name ?? 'world').padEnd(9)} ${text}`);
  }

  /** The brands of a world take turns: while one brand uses the server, nothing else happens. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = turns.then(work);
    turns = turn.catch(() => {});
    return turn;
  }

  const scheduler = {
    random,
    story,
    tell,
    now: () => nowMs,
    steps: () => steps,
    alone,
    /**
     * Adds something to run.
     *
     * @param process null: it belongs to none, and happens whatever becomes of processes.
     * @returns how to take it back.
     */
    add(delayMs: number, run: () => unknown, process: Process | null | undefined = here.getStore()): () => void {
      places += 1;
      const action: Action = {
        atMs: nowMs + Math.max(0, delayMs),
        place: places,
        process: process ?? undefined,
        run,
      };
      insert(action);
      return () => {
        const at = queue.indexOf(action);
        if (at >= 0) queue.splice(at, 1);
      };
    },
    /** Goes on until the condition holds. @throws where nothing is left to do, or it does not hold for too long. */
    async until(isReached: () => boolean, { withinMs, what }: { withinMs: number; what: string }): Promise<void> {
      const lastMs = nowMs + withinMs;
      let idleTurns = 0;
      /** @returns whether the condition holds. */
      async function step(): Promise<boolean> {
        await drained();
        // Code that gives way to other work (setImmediate) goes on before a long pause does.
        if ((queue[0]?.atMs ?? 0) > nowMs + 1000) for (let turn = 0; turn < 10; turn += 1) await drained();
        if (isReached()) return true;
        const action = queue.shift();
        if (!action) {
          // A file is read: only in the first world, which reads each once.
          idleTurns += 1;
          if (idleTurns > 20_000) throw new Error(`nothing is left to do, and still not: ${what}`);
          await realDelay(1);
          return false;
        }
        idleTurns = 0;
        if (action.atMs > lastMs) {
          insert(action);
          throw new Error(`not within ${Math.round(withinMs / 60_000)} simulated minutes: ${what}`);
        }
        nowMs = Math.max(nowMs, action.atMs);
        const { process } = action;
        if (process?.isDead) return false;
        if (process && process.frozenUntilMs > nowMs) {
          insert({ ...action, atMs: process.frozenUntilMs });
          return false;
        }
        steps += 1;
        if (steps > mostSteps) throw new Error(`more than ${mostSteps} steps: ${what}`);
        await action.run();
        return false;
      }
      while (!(await alone(step)));
    },
    /** What the work returns, at most an hour later. */
    async done<T>(work: Promise<T>, what: string, withinMs = 3_600_000): Promise<T> {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      work.then(end, end);
      await scheduler.until(() => isOver, { withinMs, what });
      return work;
    },
  };
  return scheduler;
}

/** All that can go on by itself has gone on: what is left waits for the scheduler. */
const drained = () => new Promise<void>((resolve) => real.setImmediate(resolve));

/** Runs code of a process. */
export const within = <T>(process: Process, run: () => T): T => here.run(process, run);

/** Replaces timers, clocks and chance of this Node.js process: within a simulated process they are the scheduler's. */
export function installVirtualTime(): void {
  const timers = new WeakMap<object, () => void>();
  const isTimer = (timer: unknown): timer is object => typeof timer === 'object' && timer !== null && timers.has(timer);

  function startTimer(process: Process, run: () => void, ms: number, isRepeated: boolean) {
    const { scheduler } = process;
    const timer = { ref: () => timer, unref: () => timer, refresh: () => timer };
    const fire = () => {
      if (isRepeated) start();
      within(process, run);
    };
    const start = () => void timers.set(timer, scheduler.add(ms + scheduler.random.next() * 2, fire, process));
    start();
    return timer;
  }
  const stopTimer = (timer: object) => timers.get(timer)?.();
  const starting =
    (realStart: (...given: never[]) => unknown, isRepeated: boolean) =>
    (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const process = here.getStore();
      if (!process) return (realStart as unknown as (...given: unknown[]) => unknown)(run, ms, ...args);
      return startTimer(process, () => run(...args), ms, isRepeated);
    };
  const stopping = (realStop: (timer: never) => void) => (timer: unknown) =>
    isTimer(timer) ? stopTimer(timer) : realStop(timer as never);
  const now = () => {
    const process = here.getStore();
    return process ? process.scheduler.now() + process.clockErrorMs : real.Date.now();
  };
  class VirtualDate extends real.Date {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [now()] : given) as [number]));
    }
    static override now = now;
    static override [Symbol.hasInstance] = (value: unknown) => value instanceof real.Date;
  }
  Object.assign(globalThis, {
    setTimeout: starting(real.setTimeout, false),
    setInterval: starting(real.setInterval, true),
    clearTimeout: stopping(real.clearTimeout),
    clearInterval: stopping(real.clearInterval),
    Date: VirtualDate,
  });
  performance.now = () => here.getStore()?.scheduler.now() ?? realNow();
  Math.random = () => here.getStore()?.scheduler.random.next() ?? real.random();

  const builtin = createRequire(import.meta.url);
  const crypto = builtin('node:crypto') as { randomBytes(size: number): Buffer };
  const realBytes = crypto.randomBytes;
  crypto.randomBytes = (size) => {
    const random = here.getStore()?.scheduler.random;
    return random ? Buffer.from(Array.from({ length: size }, () => random.integer(0, 255))) : realBytes(size);
  };
  const promises = builtin('node:timers/promises') as Record<string, unknown>;
  const realPause = promises.setTimeout as (...given: unknown[]) => Promise<unknown>;
  promises.setTimeout = (ms = 0, value?: unknown, options: { signal?: AbortSignal } = {}) => {
    const process = here.getStore();
    if (!process) return realPause(ms, value, options);
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const abort = () => {
        cancel();
        reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }));
      };
      const goOn = () => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      };
      const cancel = process.scheduler.add(ms + process.scheduler.random.next() * 2, goOn, process);
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  };
  syncBuiltinESMExports();
}
