/** Shorter names are near too many others. */
const leastLength = 8;
const mostTypos = 2;

/**
 * A sentence for each variable that nothing reads and whose name is nearly one of ours: a typo would silently mean the
 * default. Where the right name is set too, nothing is misspelt. Without I/O.
 *
 * @param set names of all variables that are set. @param known names that were read.
 */
export function misspeltVariables(set: readonly string[], known: ReadonlySet<string>): string[] {
  const missing = [...known].filter((name) => name.length >= leastLength && !set.includes(name));
  return set
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      const meant = missing.find((one) => typosBetween(name.toUpperCase(), one) <= mostTypos);
      return meant === undefined ? [] : [`${name} is not read: expected ${meant}`];
    });
}

/** Characters to insert, remove or replace (Levenshtein). More than `mostTypos` may be any number above it. */
function typosBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > mostTypos) return mostTypos + 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, character] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (row[j] ?? 0) + (character === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
