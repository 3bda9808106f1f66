/** Refuses, before anything is sent, an input that would mean something else to the service. All throw a `TypeError`. */

/** An empty code lists, or deletes, something else: the same path serves collections (FACTS). */
export function requireCode(code: string, what = 'code'): string {
  if (typeof code !== 'string' || code.trim() === '') {
    throw new TypeError(`expected a ${what} that is not empty, got ${JSON.stringify(code)}`);
  }
  return code;
}

/** A filter that is empty would be read as none: the whole list instead of a part of it. */
export function optionalText(text: string | undefined, what: string): string | undefined {
  return text === undefined ? undefined : requireCode(text, what);
}

/** An id can stand in a path. */
export function requireId(id: number, what = 'id'): number {
  if (Number.isSafeInteger(id) && id >= 1) return id;
  const got = typeof id === 'string' ? JSON.stringify(id) : String(id);
  throw new TypeError(`expected ${what} to be a positive integer, got ${got}`);
}

export function optionalId(id: number | undefined, what: string): number | undefined {
  return id === undefined ? undefined : requireId(id, what);
}

/** Amounts are decimal text, in whole units of the currency, so that no float loses a cent. */
export function requireAmount(amount: string, what: string): string {
  if (typeof amount !== 'string' || !/^-?\d+(\.\d+)?$/.test(amount)) {
    throw new TypeError(`expected ${what} as decimal text such as "12.50", got ${JSON.stringify(amount)}`);
  }
  return amount;
}

/** Ratings go from 1 to 5 (spec, 'Review'). */
export function requireScore(score: number, least = 1): number {
  if (!Number.isInteger(score) || score < least || score > 5) {
    throw new TypeError(`expected a score from ${least} to 5, got ${score}`);
  }
  return score;
}

/** Page sizes go from 1 to 100 (spec, 'Limits'). */
export function requireLimit(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    throw new TypeError(`expected a limit from 1 to 100, got ${limit}`);
  }
  return limit;
}

/** Pages count from 1; only the list of reviews has a greatest one (spec, 'Limits'). */
export function requirePage(page: number, most = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isSafeInteger(page) || page < 1 || page > most) {
    const upTo = most === Number.MAX_SAFE_INTEGER ? 'on' : `to ${most}`;
    throw new TypeError(`expected a page from 1 ${upTo}, got ${page}`);
  }
  return page;
}

/** A calendar day as the spec writes it; its first second, in milliseconds since 1970, as if its zone were UTC. */
export function requireDay(day: string, what: string): number {
  return localMs(day, /^\d{4}-\d\d-\d\d$/, `${what} as yyyy-mm-dd`);
}

/** A local time as the spec writes it, in milliseconds since 1970, as if its zone were UTC. */
export function requireDateTime(time: string, what: string): number {
  return localMs(time, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, `${what} as yyyy-mm-dd hh:mm:ss`);
}

/** The engine reads 30 February as 1 March: what is not written as it came is no date. */
function localMs(text: string, form: RegExp, what: string): number {
  const iso = typeof text === 'string' && form.test(text) ? text.replace(' ', 'T') : '';
  const ms = Date.parse(iso.includes('T') ? `${iso}Z` : iso);
  if (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(iso)) return ms;
  throw new TypeError(`expected ${what}, got ${JSON.stringify(text)}`);
}
