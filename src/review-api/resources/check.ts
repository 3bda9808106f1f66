/** Checks of parameters that the service would misread. All throw a `TypeError` before anything is sent. */

/**
 * With an empty code the request would list or delete something else: the same path serves the collection
 * (docs/service-facts.md).
 */
export function requireCode(code: string, what = 'code'): string {
  if (typeof code !== 'string' || code.trim() === '') {
    throw new TypeError(`expected a ${what} that is not empty, got ${JSON.stringify(code)}`);
  }
  return code;
}

/** An id is part of a path, so it must be a positive integer. */
export function requireId(id: number, what = 'id'): number {
  if (Number.isSafeInteger(id) && id >= 1) return id;
  const got = typeof id === 'string' ? JSON.stringify(id) : String(id);
  throw new TypeError(`expected ${what} to be a positive integer, got ${got}`);
}

/**
 * An amount as it is sent. Amounts are decimal text in whole units of the currency: floating point would lose cents.
 *
 * @returns the same amount without zeros beyond the cents: Postgres writes 1234 / 100.0 as `12.3400000000000000`.
 */
export function sentAmount(amount: string, what: string): string {
  if (typeof amount !== 'string' || !/^-?\d+(\.\d+)?$/.test(amount)) {
    throw new TypeError(`expected ${what} as decimal text such as "12.50", got ${lengthOf(amount)}`);
  }
  return amount.replace(/(\.\d\d\d*?)0+$/, '$1');
}

/** A score, the size of a page, or the number of a page: docs/interface.md, "Review" and "Limits", has their limits. */
export function requireWithin(value: number, what: string, least: number, most = Number.POSITIVE_INFINITY): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const upTo = most === Number.POSITIVE_INFINITY ? 'on' : `to ${most}`;
  throw new TypeError(`expected a ${what} from ${least} ${upTo}, got ${value}`);
}

/** A calendar day `yyyy-mm-dd`. */
export const requireDay = (day: string, what: string): void =>
  requireForm(day, /^\d{4}-\d\d-\d\d$/, `${what} as yyyy-mm-dd`);

/** A local time `yyyy-mm-dd hh:mm:ss`. */
export const requireDateTime = (time: string, what: string): void =>
  requireForm(time, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, `${what} as yyyy-mm-dd hh:mm:ss`);

/** `Date.parse` reads 30 February as 1 March, so the date is formatted again and compared. */
function requireForm(text: string, form: RegExp, what: string): void {
  const ms = typeof text === 'string' && form.test(text) ? localMs(text) : Number.NaN;
  if (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.replace(' ', 'T'))) return;
  throw new TypeError(`expected ${what}, got ${lengthOf(text)}`);
}

/** A local time, or the first second of a day, in milliseconds since 1970, as if its zone were UTC. */
export const localMs = (text: string): number =>
  Date.parse(`${text.replace(' ', 'T')}${text.includes(' ') ? 'Z' : ''}`);

/** Checks the fields that are given, each by its rule. */
export function requireEach<Fields extends object>(
  fields: Fields,
  rules: { [Name in keyof Fields]?: (value: NonNullable<Fields[Name]>, what: string) => unknown },
): void {
  for (const name of Object.keys(rules) as (keyof Fields & string)[]) {
    const value = fields[name];
    if (value !== undefined && value !== null) rules[name]?.(value, name);
  }
}

/** Length or type of the value, never its content: a wrong column may hold a customer's data. */
function lengthOf(value: unknown): string {
  return typeof value === 'string' ? `a text of ${value.length} characters` : typeof value;
}
