/**
 * Lets pieces of work begin one by one, each in its own turn of the event loop: what arrives meanwhile, such as a
 * response, is handled between two of them. Each piece begins when the promise that it awaits resolves.
 */
export function openTurns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const beginNext = () => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(beginNext);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(beginNext);
    });
}
