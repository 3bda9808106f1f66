import { CronExpressionParser } from 'cron-parser';
import { isTimeZone } from '../base/time/span.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * One function per kind of value. Each adds its faults to `wrong` and continues, so that one call reports all of them.
 */
export function reader(environment: Environment, wrong: string[]) {
  const given = (name: string) => {
    const value = environment[name]?.trim();
    return value === '' ? undefined : value;
  };
  const fail = (name: string, expected: string): void => {
    wrong.push(`${name} ${given(name) === undefined ? 'is missing' : 'is malformed'}: expected ${expected}`);
  };

  function text(name: string, fallback?: string): string {
    const value = given(name) ?? fallback;
    if (value === undefined) fail(name, 'a text');
    return value ?? '';
  }

  function url(name: string, protocols: readonly string[], fallback?: string): string {
    const value = given(name) ?? fallback ?? '';
    if (value === fallback) return value;
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (!parsed || !protocols.includes(parsed.protocol) || parsed.hostname === '') {
      fail(name, `an address such as ${exampleUrl(protocols)} (the value is not shown, it may hold a password)`);
    }
    return value;
  }

  function baseUrl(name: string): string {
    const value = url(name, ['http:', 'https:']);
    if (URL.canParse(value) && !isBaseUrl(value)) fail(name, 'an address without user, password, ? and #');
    return value;
  }

  /** `fetch` refuses an address with user and password, with a message that quotes them. */
  function alertUrl(name: string): string | undefined {
    if (given(name) === undefined) return undefined;
    const value = url(name, ['http:', 'https:']);
    const { username = '', password = '' } = URL.canParse(value) ? new URL(value) : {};
    if (username + password !== '') fail(name, 'an address without user and password (the value is not shown)');
    return value;
  }

  /** A token must not be guessable. */
  function token(name: string): string | undefined {
    const value = given(name);
    if (value !== undefined && (value.length < leastSecret || isPlaceholder(value))) {
      fail(name, `at least ${leastSecret} characters made at random, such as by: openssl rand -hex 24`);
    }
    return value;
  }

  function optionalNumber(name: string, limits: { least: number; most: number; integer?: boolean }) {
    const value = given(name);
    if (value === undefined) return undefined;
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    const right = number >= limits.least && number <= limits.most && (!limits.integer || Number.isInteger(number));
    if (!right) {
      const kind = limits.integer ? 'a whole number' : 'a number';
      fail(name, `${kind} from ${limits.least} to ${limits.most}, found ${JSON.stringify(value)}`);
    }
    return number;
  }

  function number(name: string, limits: { least: number; most: number; integer?: boolean }, fallback: number): number {
    return optionalNumber(name, limits) ?? fallback;
  }

  function oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = given(name) ?? fallback;
    const found = allowed.find((one) => one === value);
    if (found === undefined) fail(name, `one of ${allowed.join(', ')}, found ${JSON.stringify(value)}`);
    return found ?? fallback;
  }

  function timeZone(name: string, fallback: string): string {
    const value = given(name) ?? fallback;
    if (!isTimeZone(value)) fail(name, `an IANA time zone such as Asia/Seoul, found ${JSON.stringify(value)}`);
    return value;
  }

  const optionalTimeZone = (name: string) => (given(name) === undefined ? undefined : timeZone(name, 'UTC'));

  /** Five or six fields. An empty value turns the schedule off; without a value it has its default. */
  function cron(name: string, fallback: string): string {
    const value = environment[name]?.trim() ?? fallback;
    if (value !== '' && !isCronPattern(value)) {
      fail(name, `a cron pattern such as "${fallback}" or nothing, found ${JSON.stringify(value)}`);
    }
    return value;
  }

  /** A part of a path. */
  function pathPart(name: string): string | undefined {
    const value = given(name);
    if (value !== undefined && (!/^[\w.~-]{16,200}$/.test(value) || isPlaceholder(value))) {
      fail(name, `${leastSecret} to 200 letters, digits or . _ ~ - made at random (the value is not shown)`);
    }
    return value;
  }

  function integers(name: string): number[] {
    const items = (given(name) ?? '').split(',').flatMap((item) => item.trim() || []);
    const fault = items.find((item) => !/^\d{1,15}$/.test(item));
    if (fault !== undefined) fail(name, `whole numbers separated by commas, found ${JSON.stringify(fault)}`);
    return items.map(Number);
  }

  return {
    text,
    url,
    baseUrl,
    alertUrl,
    token,
    number,
    optionalNumber,
    oneOf,
    timeZone,
    optionalTimeZone,
    cron,
    pathPart,
    integers,
  };
}

/** Minimum length of a token or secret: 16 random hexadecimal digits have 64 bits. */
const leastSecret = 16;

/** Whether the value is a placeholder of an example. */
const isPlaceholder = (text: string) => /change.?me|replace.?me|^(.)\1*$/i.test(text);

/** An example address for these protocols. */
const exampleUrl = (protocols: readonly string[]) =>
  protocols.includes('http:') ? 'https://reviews.example.com' : `${protocols[0]}//user:password@host:port/name`;

/** Checked with the parser that BullMQ uses. */
function isCronPattern(pattern: string): boolean {
  if (pattern.split(/\s+/).length < 5) return false;
  try {
    CronExpressionParser.parse(pattern);
    return true;
  } catch {
    return false;
  }
}

/** Whether paths can be added to the address: no query, no fragment, and no password, which would show in errors. */
function isBaseUrl(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === '';
}
