/** Refuses, before anything is sent, an input that would mean something else to the service. */

/** An empty code lists, or deletes, something else: the same path serves collections (FACTS). */
export function requireCode(code: string, what = 'code'): string {
  if (typeof code !== 'string' || code.trim() === '') {
    throw new TypeError(`expected a ${what} that is not empty, got ${JSON.stringify(code)}`);
  }
  return code;
}

/** A `TypeError` unless the id can stand in a path. */
export function requireId(id: number, what = 'id'): number {
  if (!Number.isSafeInteger(id) || id < 1) throw new TypeError(`expected ${what} to be a positive integer, got ${id}`);
  return id;
}

/** Amounts are decimal text, in whole units of the currency, so that no float loses a cent. */
export function requireAmount(amount: string, what: string): string {
  if (typeof amount !== 'string' || !/^-?\d+(\.\d+)?$/.test(amount)) {
    throw new TypeError(`expected ${what} as decimal text such as "12.50", got ${JSON.stringify(amount)}`);
  }
  return amount;
}

/** Page sizes go from 1 to 100 (spec, 'Limits'). */
export function requireLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw new TypeError(`expected a limit from 1 to 100, got ${limit}`);
  }
  return limit;
}
