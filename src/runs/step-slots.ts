export type StepSlots = ReturnType<typeof openStepSlots>;

/**
 * Slots for the steps that one process carries out at a time, over all runs of a brand: a free slot goes to the waiting
 * step of the lowest number. So the steps of a backfill wait for the steps of regular runs.
 */
export function openStepSlots(count: number) {
  let free = count;
  const waiting: { priority: number; start(): void }[] = [];
  const slot = (priority: number) =>
    new Promise<void>((start) => {
      const at = waiting.findIndex((one) => one.priority > priority);
      waiting.splice(at < 0 ? waiting.length : at, 0, { priority, start });
    });
  return async <T>(priority: number, work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await slot(priority);
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next.start();
      else free += 1;
    }
  };
}

export type RunSeats = ReturnType<typeof openRunSeats>;

/**
 * Seats for the runs that a process carries out at a time: each has a connection to the queue. `take` says whether
 * another run may begin.
 *
 * @param ofOthers seats for all runs except the first two runs of each brand that keep it up to date (`isLive`), which
 *   take any seat. Default: half, so that backfills, and a brand with endless runs, leave the rest to other brands.
 */
export function openRunSeats(count: number, ofOthers = count / 2) {
  let taken = 0;
  return {
    take(runsOfBrand: number, isLive: boolean): boolean {
      if (taken >= (isLive && runsOfBrand < 2 ? count : ofOthers)) return false;
      taken += 1;
      return true;
    },
    leave() {
      taken -= 1;
    },
  };
}
