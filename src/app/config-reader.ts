import { CronExpressionParser } from 'cron-parser';
import * as v from 'valibot';
import { isTimeZone } from '../base/time/span.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a variable holds, read from its text. The message of an issue says what was expected. */
type Kind<T> = v.GenericSchema<string, T>;

/** Shows a wrong value: for kinds that hold no secret. */
const withValue = (expected: string) => (issue: v.BaseIssue<unknown>) =>
  `${expected}, found ${JSON.stringify(issue.input)}`;

const check = (isRight: (value: string) => boolean, message: string | ((issue: v.BaseIssue<unknown>) => string)) =>
  v.pipe(v.string(), v.check(isRight, message));

const address = (protocols: readonly string[], example: string) =>
  check((value) => {
    const url = URL.parse(value);
    return url !== null && protocols.includes(url.protocol) && url.hostname !== '';
  }, `an address such as ${example} (the value is not shown, it may hold a password)`);

/** The address of a database, or of a queue in one. */
export const databaseUrl = (...protocols: readonly string[]) =>
  address(protocols, `${protocols[0]}//user:password@host:port/name`);

const httpUrl = address(['http:', 'https:'], 'https://reviews.example.com');

/** Paths can be added to it: it has no query, no fragment, and no password, which would show in errors. */
export const baseUrl = v.pipe(
  httpUrl,
  v.check((value) => {
    const { username, password, search, hash } = new URL(value);
    return username + password + search + hash === '';
  }, 'an address without user, password, ? and #'),
);

/** `fetch` refuses an address with user and password, with a message that quotes them. */
export const alertUrl = v.pipe(
  httpUrl,
  v.check((value) => {
    const { username, password } = new URL(value);
    return username + password === '';
  }, 'an address without user and password (the value is not shown)'),
);

export const text = v.string();

/** Minimum length of a token or secret: 16 random hexadecimal digits have 64 bits. */
const leastSecret = 16;

/** Whether the value is a placeholder of an example. */
const isPlaceholder = (value: string) => /change.?me|replace.?me|^(.)\1*$/i.test(value);

/** Must not be guessable. */
export const token = check(
  (value) => value.length >= leastSecret && !isPlaceholder(value),
  `at least ${leastSecret} characters made at random, such as by: openssl rand -hex 24`,
);

/** A part of a path that must not be guessable. */
export const secretPath = check(
  (value) => /^[\w.~-]{16,200}$/.test(value) && !isPlaceholder(value),
  `${leastSecret} to 200 letters, digits or . _ ~ - made at random (the value is not shown)`,
);

export const number = (least: number, most: number) =>
  v.pipe(
    check(
      (value) => /^\d+(\.\d+)?$/.test(value) && Number(value) >= least && Number(value) <= most,
      withValue(`a number from ${least} to ${most}`),
    ),
    v.transform(Number),
  );

export const wholeNumber = (least: number, most: number) =>
  v.pipe(
    check(
      (value) => /^\d+(\.0+)?$/.test(value) && Number(value) >= least && Number(value) <= most,
      withValue(`a whole number from ${least} to ${most}`),
    ),
    v.transform(Number),
  );

/** Whole numbers separated by commas. */
export const wholeNumbers = v.pipe(
  check(
    (value) => value.split(',').every((item) => /^\s*\d{0,15}\s*$/.test(item)),
    withValue('whole numbers separated by commas'),
  ),
  v.transform((value) => value.split(',').flatMap((item) => (item.trim() === '' ? [] : Number(item)))),
);

export const oneOf = <const T extends string>(allowed: readonly T[]) =>
  v.picklist(allowed, withValue(`one of ${allowed.join(', ')}`));

export const timeZone = check(isTimeZone, withValue('an IANA time zone such as Asia/Seoul'));

/** Five or six fields, checked with the parser that BullMQ uses. */
const cron = check((pattern) => {
  if (pattern.split(/\s+/).length < 5) return false;
  try {
    CronExpressionParser.parse(pattern);
    return true;
  } catch {
    return false;
  }
}, withValue('a cron pattern such as "*/5 * * * *" or nothing'));

const atFirstIssue = { abortEarly: true, abortPipeEarly: true };

/**
 * Reads variables one by one. What is missing or malformed is added to `wrong`, and reading goes on, so that one
 * reading names all of it.
 */
export function openReader(environment: Environment, wrong: string[]) {
  function optional<T, F>(name: string, kind: Kind<T>, fallback: F): T | F {
    const value = environment[name]?.trim() ?? '';
    if (value === '') return fallback;
    const result = v.safeParse(kind, value, atFirstIssue);
    if (result.success) return result.output;
    wrong.push(`${name} is malformed: expected ${result.issues[0].message}`);
    return fallback;
  }

  return {
    optional,
    required<T>(name: string, kind: Kind<T>): T {
      if ((environment[name]?.trim() ?? '') !== '') return optional(name, kind, undefined as T);
      const result = v.safeParse(kind, '', atFirstIssue);
      wrong.push(`${name} is missing: expected ${result.success ? 'a text' : result.issues[0].message}`);
      return undefined as T;
    },
    /** Without a value a schedule has its default; an empty value turns it off. */
    schedule(name: string, fallback: string): string {
      return environment[name]?.trim() === '' ? '' : optional(name, cron, fallback);
    },
  };
}
