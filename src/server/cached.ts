/**
 * Keeps a value for `ttlMs` after it was made. A call that comes more than `ttlMs` after `make` began, while it runs,
 * begins another. A failure is not kept.
 *
 * @param now milliseconds of any clock.
 */
export function cached<T>(make: () => Promise<T>, ttlMs: number, now = () => performance.now()): () => Promise<T> {
  let entry: { at: number; value: Promise<T> } | undefined;
  return () => {
    if (entry === undefined || now() - entry.at >= ttlMs) {
      const fresh = { at: now(), value: make() };
      entry = fresh;
      // Counted from the end: a value that takes long to make must not be made without a pause.
      fresh.value.then(
        () => {
          fresh.at = now();
        },
        () => {
          if (entry === fresh) entry = undefined;
        },
      );
    }
    return entry.value;
  };
}
