import { Failure } from './failure.ts';

export type Params = Readonly<Record<string, unknown>>;

/** What a request may carry a value as: absent (undefined), empty (null), or a value. */
type Maybe<T> = T | null | undefined;

export type Input = ReturnType<typeof readInput>;

/**
 * Reads the parameters of a request. What is wrong is gathered; `check` then answers 422 with all of it.
 *
 * @param params query, form or JSON fields, merged.
 */
export function readInput(params: Params) {
  const wrong: string[] = [];
  const fail = (name: string, expected: string): undefined => {
    const found = JSON.stringify(params[name]) ?? 'nothing';
    wrong.push(`${name}: found ${found.slice(0, 100)}, expected ${expected}`);
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
      return /^-?\d+(\.\d+)?([eE]\+?\d+)?$/.test(value) ? value : fail(name, 'a number');
    },
    /** ISO 8601 or `yyyy-mm-dd hh:mm:ss`; without offset it is in the service's zone. Kept as text for Postgres. */
    moment(name: string): Maybe<string> {
      const value = text(name);
      if (value === undefined || value === null) return value;
      const shape = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;
      const isDate = shape.test(value) && !Number.isNaN(Date.parse(value.slice(0, 10)));
      return isDate && isRealDay(value.slice(0, 10)) ? value : fail(name, 'an ISO 8601 date-time');
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
    refuse: (reason: string) => void wrong.push(reason),
    /** @throws Failure 422 with everything that was wrong. */
    check(): void {
      if (wrong.length > 0) throw new Failure(422, wrong);
    },
  };
  return api;
}

function isRealDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** Reads `a=1&list[]=x&items[][field]=y` as form readers do: a repeated field begins the next item. */
export function parseForm(body: string): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(body)) {
    const [, key = name, isList, field] = /^([^[]+)(\[\])?(?:\[([^\]]+)\])?$/.exec(name) ?? [];
    if (!isList) {
      params[key] = value;
      continue;
    }
    params[key] ??= [];
    const list = params[key] as unknown[];
    if (field === undefined) list.push(value);
    else {
      const last = list.at(-1) as Record<string, string> | undefined;
      if (last === undefined || field in last) list.push({ [field]: value });
      else last[field] = value;
    }
  }
  return params;
}
