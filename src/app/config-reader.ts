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
  check(
    (value) => {
      const url = URL.parse(value);
      return url !== null && protocols.includes(url.protocol) && url.hostname !== '';
    },
    ({ input }) =>
      `an address such as ${example}${input === '' ? '' : ' (the value is not shown, it may hold a password)'}`,
  );

/** The address of a database, or of a queue in one. The example has no password, which would be masked. */
export const databaseUrl = (...protocols: readonly string[]) =>
  address(protocols, `${protocols[0]}//user@host:port/name`);

/** A path that is no number would silently mean another database of a Redis. */
export const queueUrl = v.pipe(
  databaseUrl('redis:', 'rediss:', 'postgres:', 'postgresql:'),
  v.check(
    (value) => !/^rediss?:/.test(value) || /^(\/\d*)?$/.test(new URL(value).pathname),
    'the number of a database behind the host of a Redis, such as redis://host:6379/0',
  ),
);

const httpUrl = address(['http:', 'https:'], 'https://reviews.example.com');

/**
 * Paths can be added to it: it has no query, no fragment, and no password, which would show in errors. Each address has one
 * spelling, since the processes that share a token and a hold find them by it.
 */
export const baseUrl = v.pipe(
  httpUrl,
  v.check((value) => !/[?#]/.test(value) && hasNoPassword(value), 'an address without user, password, ? and #'),
  v.transform((value) => `${new URL(value).origin}${new URL(value).pathname.replace(/\/+$/, '')}`),
);

/** `fetch` refuses an address with user and password, with a message that quotes them. */
export const alertUrl = v.pipe(
  httpUrl,
  v.check((value) => hasNoPassword(value), 'an address without user and password (the value is not shown)'),
);

const hasNoPassword = (value: string) => new URL(value).username + new URL(value).password === '';

export const text = v.string();

/** Whether the value is a placeholder of an example. */
const isPlaceholder = (value: string) => /change.?me|replace.?me|^(.)\1*$/i.test(value);

/** Must not be guessable: 16 random hexadecimal digits have 64 bits. */
export const token = check(
  (value) => value.length >= 16 && !isPlaceholder(value),
  'at least 16 characters made at random, such as by: openssl rand -hex 24',
);

/** A part of a path that must not be guessable. */
export const secretPath = check(
  (value) => /^[\w.~-]{16,200}$/.test(value) && !isPlaceholder(value),
  '16 to 200 letters, digits or . _ ~ - made at random (the value is not shown)',
);

const numeric = (pattern: RegExp, expected: string) => (least: number, most: number) =>
  v.pipe(
    check(
      (value) => pattern.test(value) && Number(value) >= least && Number(value) <= most,
      withValue(`${expected} from ${least} to ${most}`),
    ),
    v.transform(Number),
  );

export const number = numeric(/^\d+(\.\d+)?$/, 'a number');
export const wholeNumber = numeric(/^\d+(\.0+)?$/, 'a whole number');

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
    // Some patterns can be read and name no day, such as the 31st of April. In UTC no clock change hides the next one.
    CronExpressionParser.parse(pattern, { tz: 'UTC' }).next();
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

/** Shorter names are near too many others. */
const leastLength = 8;

/**
 * A sentence for each misspelt variable: nothing reads it, and the default would apply without a word. Its name is nearly
 * one of ours, or has one of ours as a word, as `set NAME` has. If the right name is set too, nothing is misspelt. Without I/O.
 *
 * @param set names of all variables that are set. @param known names that were read.
 */
export function misspeltVariables(set: readonly string[], known: ReadonlySet<string>): string[] {
  // LOGLEVEL is read by many other programs.
  const isLike = (name: string) => name.length >= leastLength && name !== 'LOG_LEVEL';
  const missing = [...known].filter((name) => isLike(name) && !set.includes(name));
  return set
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      const words = name.toUpperCase().replaceAll('-', '_').split(/\W+/);
      const meant = missing.find((one) => words.includes(one) || lettersApart(name.toUpperCase(), one) <= 2);
      return meant === undefined ? [] : [`${name} is not read: expected ${meant}`];
    });
}

/**
 * The same for a variable within the value of another one, which a quote that is not closed takes along. The value is not
 * shown, it may be a secret.
 */
export function swallowedVariables(environment: Environment, known: ReadonlySet<string>): string[] {
  const namesIn = (value = '') => [...value.matchAll(/[A-Z][A-Z0-9_]+(?=\s*=)/g)].map(([name]) => name);
  return [...known].flatMap((name) => {
    const within = namesIn(environment[name]).filter((one) => known.has(one) && environment[one] === undefined);
    const why = `it is within the value of ${name}: a quote of that line is not closed, or the line has two variables`;
    return within.map((one) => `${one} is not read: ${why}`);
  });
}

/** Letters that only one of the names has: none if two are swapped, one if one is missing, two if one is another. */
function lettersApart(a: string, b: string): number {
  const onlyB = [...b];
  const onlyA = [...a].filter((letter) => {
    const at = onlyB.indexOf(letter);
    return at < 0 || onlyB.splice(at, 1).length === 0;
  });
  return onlyA.length + onlyB.length;
}
