/** Does `work` in a slot. @param priority where all slots are taken, a lower number goes first. */
export type StepSlots = <T>(priority: number, work: () => Promise<T>) => Promise<T>;

/**
 * Slots for the steps that one process carries out at a time, over all runs: a free slot goes to the waiting step of the
 * lowest number. So the steps of a backfill wait for those of the regular runs.
 */
export function openStepSlots(count: number): StepSlots {
  let free = count;
  const waiting: { priority: number; start(): void }[] = [];
  const slot = (priority: number) =>
    new Promise<void>((start) => {
      const at = waiting.findIndex((one) => one.priority > priority);
      waiting.splice(at < 0 ? waiting.length : at, 0, { priority, start });
    });
  return async (priority, work) => {
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
