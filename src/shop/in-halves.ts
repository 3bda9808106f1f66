/**
 * Reads all keys at once. If that fails because of the keys, reads half of them at a time, down to the single key.
 *
 * @param read throws if it fails for another reason.
 * @param alone what comes of a key that failed by itself.
 */
export async function readInHalves<T, Fault>(
  keys: readonly string[],
  read: (some: readonly string[]) => Promise<{ value: T[] } | { fault: Fault }>,
  alone: (key: string, fault: Fault) => T | Promise<T>,
): Promise<T[]> {
  const all = await read(keys);
  if ('value' in all) return all.value;
  const [key] = keys;
  if (keys.length === 1 && key !== undefined) return [await alone(key, all.fault)];
  const middle = Math.ceil(keys.length / 2);
  const first = await readInHalves(keys.slice(0, middle), read, alone);
  return [...first, ...(await readInHalves(keys.slice(middle), read, alone))];
}
