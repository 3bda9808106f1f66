import type { World } from './world.ts';

type Trace = AsyncDisposable & { url: string };

export type Traced<T extends Trace> = World & { trace: T };

/** The world, whose runs send their requests through the recording, and which closes it first. */
export function traced<T extends Trace>(world: World, trace: T): Traced<T> {
  return {
    ...world,
    trace,
    serviceUrl: trace.url,
    environment: { ...world.environment, REVIEW_API_BASE_URL: trace.url },
    async [Symbol.asyncDispose]() {
      await trace[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
