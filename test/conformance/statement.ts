import { isDeepStrictEqual } from 'node:util';
import type { Context } from './records.ts';
import type { Answer } from './session.ts';

/** Returns if the service does as the sentence says; else throws `Differs` or `CannotTell`. */
export type Check = (context: Context) => Promise<unknown>;
/** One sentence of the spec, with the heading it stands under. */
export type Statement = { section: string; says: string; check: Check };
export type Says = (says: string, check: Check) => Statement;
/** A part of the spec that can be run alone, by its name. */
export type Chapter = { name: string; statements: readonly Statement[] };

/** The service does otherwise than the spec says. */
export class Differs extends Error {
  readonly found: string;
  readonly expected: string;

  constructor(found: string, expected: string) {
    super(`found ${found}, expected ${expected}`);
    this.found = found;
    this.expected = expected;
  }
}

/** Nothing is known either way; the message says why and what would be needed. */
export class CannotTell extends Error {}

export const inSection =
  (section: string): Says =>
  (says, check) => ({ section, says, check });

/** The statements, if the spec says so of a resource. */
export const where = (is: unknown, ...statements: readonly Statement[]) => (is ? statements : []);

export type Row = Readonly<Record<string, unknown>>;

/** @throws Differs unless the condition is true. */
export function ensure(condition: boolean, found: string, expected: string): asserts condition {
  if (!condition) throw new Differs(found, expected);
}

/** @throws CannotTell unless it is there. */
export function needed<T>(found: T | undefined, why: string): T {
  if (found === undefined) throw new CannotTell(why);
  return found;
}

export const isSuccess = ({ status }: Answer) => status >= 200 && status < 300;
export const isRefusal = ({ status }: Answer) => status >= 400 && status < 500;
export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** The objects of an array; no objects of anything else. */
export const rowsIn = (value: unknown): Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
export const show = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 160));

export const statusIs = (answer: Answer, expected: number): void =>
  ensure(answer.status === expected, answer.summary, `status ${expected}`);
export const succeeds = (answer: Answer): void => ensure(isSuccess(answer), answer.summary, 'a success status');
export const isRefused = (answer: Answer, expected: string): void =>
  ensure(!isSuccess(answer), answer.summary, expected);
export const isSame = (what: string, found: unknown, expected: unknown): void =>
  ensure(isDeepStrictEqual(found, expected), `${what} ${show(found)}`, show(expected));
/** There is no rating. */
export const isUnrated = ({ score }: Row): void =>
  ensure(score === null || score === undefined, `score ${show(score)}`, 'none');

/** The items of a list. @throws Differs unless it is 200 with an array of objects. */
export function listOf({ status, body, summary }: Answer): Row[] {
  ensure(status === 200 && Array.isArray(body), summary, 'status 200 with a JSON array');
  ensure(body.every(isRow), summary, 'an array of objects');
  return body;
}

/** The object of an answer. @throws Differs unless it is a success with an object. */
export function rowOf(answer: Answer): Row {
  ensure(isSuccess(answer) && isRow(answer.body), answer.summary, 'a success status with a JSON object');
  return answer.body;
}

/** The path, without host, query and a slash at its end, to which `Location` leads. */
export function locationIs({ headers, summary }: Answer, path: string): void {
  const location = headers.get('location');
  ensure(location !== null, `${summary}, without Location`, `Location ${path}`);
  const found = URL.parse(location, 'http://any.invalid')?.pathname.replace(/\/$/, '');
  ensure(found?.endsWith(path) === true, `Location ${location}`, `Location ${path}`);
}

export const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);

/**
 * The page numbers of the `Link` header by rel, as far as it tells them. Targets may hold commas, so that it is not
 * split at them.
 */
export function pagesOf({ headers }: Answer): Readonly<Record<string, number>> {
  const pages: Record<string, number> = {};
  for (const [, target = '', rel = ''] of (headers.get('link') ?? '').matchAll(/<([^>]*)>\s*;\s*rel="?(\w+)"?/g)) {
    const [, page] = /[?&]page=(\d+)/.exec(target) ?? [];
    if (page !== undefined) pages[rel] = Number(page);
  }
  return pages;
}

/** The page of one rel. @throws Differs if the header does not tell it. */
export function pageOf(answer: Answer, rel: 'last' | 'next'): number {
  const page = pagesOf(answer)[rel];
  const header = answer.headers.get('link');
  const found = header === null ? `${answer.summary}, without Link` : `Link ${header}`;
  ensure(page !== undefined, found, `rel "${rel}" with a page`);
  return page;
}
