import { Failure } from './failure.ts';

export type Params = Readonly<Record<string, unknown>>;

/** What a request may carry a value as: absent (undefined), empty (null), or a value. */
type Maybe<T> = T | null | undefined;

export type Input = ReturnType<typeof readInput>;

/**
 * Reads the parameters of a request. What is wrong is gathered; `check` then answers 422 with all of it.
 *
 * @param params query, form or JSON fields, merged.
 * @param within where the parameters stand in others, such as `options[0].`
 * @param refuse takes the reasons, where others check.
 */
export function readInput(params: Params, within = '', refuse?: (reason: string) => void) {
  const wrong = new Set<string>();
  const add = refuse ?? ((reason: string) => void wrong.add(reason));
  const fail = (name: string, expected: string): undefined => {
    const found = JSON.stringify(params[name]) ?? 'nothing';
    add(`${within}${name}: found ${found.slice(0, 100)}, expected ${expected}`);
    return undefined;
  };

  function text(name: string): Maybe<string> {
    const value = params[name];
    if (value === undefined) return undefined;
    if (value === null || value === '') return null;
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    return fail(name, 'a text');
  }

  const api = {
    text,
    /** Present and not empty. */
    required(name: string): string {
      const value = text(name);
      if (value !== undefined && value !== null && value.trim() !== '') return value;
      fail(name, 'a value');
      return '';
    },
    /** Absent, or not empty. */
    filled(name: string): string | undefined {
      return name in params ? api.required(name) : undefined;
    },
    integer(name: string, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): Maybe<number> {
      const value = text(name);
      if (value === undefined || value === null) return value;
      const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
      return number >= least && number <= most ? number : fail(name, `an integer from ${least} to ${most}`);
    },
    /** As decimal text: a float would lose cents. */
    amount(name: string): Maybe<string> {
      const value = text(name);
      if (value === undefined || value === null) return value;
      return /^-?\d+(\.\d+)?([eE][+-]?\d{1,2})?$/.test(value) ? value : fail(name, 'a number');
    },
    /** ISO 8601 or `yyyy-mm-dd hh:mm:ss`; without offset it is in the service's zone. Kept as text for Postgres. */
    moment(name: string): Maybe<string> {
      const value = text(name);
      if (value === undefined || value === null) return value;
      return isMoment(value) ? value : fail(name, 'an ISO 8601 date-time');
    },
    day(name: string): Maybe<string> {
      const value = text(name);
      if (value === undefined || value === null) return value;
      return /^\d{4}-\d\d-\d\d$/.test(value) && isRealDay(value) ? value : fail(name, 'a date yyyy-mm-dd');
    },
    oneOf<T extends string>(name: string, allowed: readonly T[]): Maybe<T> {
      const value = text(name);
      if (value === undefined || value === null) return value;
      return allowed.find((one) => one === value) ?? fail(name, allowed.join(' or '));
    },
    flag(name: string): boolean | undefined {
      const value = text(name);
      if (value === undefined || value === null) return undefined;
      if (value === '1' || value === 'true') return true;
      if (value === '0' || value === 'false') return false;
      return fail(name, '1 or 0');
    },
    /** Texts of the form `<key>:<value>`, as a list or as an object. */
    options(name: string): Record<string, string> | undefined {
      const value = params[name];
      if (value === undefined) return undefined;
      if (value === null || value === '') return {};
      if (typeof value === 'object' && !Array.isArray(value)) {
        return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one)]));
      }
      const pairs = (Array.isArray(value) ? value : [value]).filter((pair) => pair !== '').map(String);
      if (pairs.some((pair) => !pair.includes(':'))) return fail(name, 'texts such as Size:L');
      return Object.fromEntries(
        pairs.map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)]),
      );
    },
    list(name: string, most: number): unknown[] | undefined {
      const value = params[name];
      if (value === undefined) return undefined;
      const list = Array.isArray(value) ? value : value === '' || value === null ? [] : [value];
      return list.length <= most ? list : fail(name, `at most ${most} items`);
    },
    refuse: add,
    /** @throws Failure 422 with everything that was wrong. */
    check(): void {
      if (wrong.size > 0) throw new Failure(422, [...wrong]);
    },
  };
  return api;
}

function isMoment(text: string): boolean {
  const shape = /^(\d{4}-\d\d-\d\d)([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-](0\d|1[0-5]):?[0-5]\d)?)?$/;
  return isRealDay(shape.exec(text)?.[1] ?? '');
}

function isRealDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
