/** Random choices that are the same for the same seed, on every machine. */
export type Random = {
  /** At least 0, below 1. */
  next(): number;
  /** A whole number from `least` to `most`, both possible. */
  integer(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  weighted<T>(from: readonly (readonly [value: T, weight: number])[]): T;
  /** `count` different items in random order; all of them if there are fewer. */
  sample<T>(from: readonly T[], count: number): T[];
  /** A separate stream: the draws for one table do not change those for the next. */
  fork(name: string): Random;
};

export function createRandom(seed: number): Random {
  const next = mulberry32(seed);
  const integer = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: (from) => item(from, integer(0, from.length - 1)),
    weighted(from) {
      let rest = next() * from.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [value, weight] of from) {
        rest -= weight;
        if (rest < 0) return value;
      }
      return item(from, from.length - 1)[0];
    },
    sample(from, count) {
      const left = [...from];
      const taken = [];
      while (taken.length < count && left.length > 0) taken.push(...left.splice(integer(0, left.length - 1), 1));
      return taken;
    },
    fork: (name) => createRandom(mixed(seed, name)),
  };
}

function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** FNV-1a over the name, started from the seed. */
function mixed(seed: number, name: string): number {
  let hash = seed ^ 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return hash;
}

function item<T>(from: readonly T[], index: number): T {
  if (index < 0 || index >= from.length) throw new RangeError('nothing to choose from');
  return from[index] as T;
}
