import { isDeepStrictEqual } from 'node:util';
import type { Answer } from './session.ts';
import { Differs } from './statement.ts';

export type Row = Readonly<Record<string, unknown>>;

/** @throws Differs unless the condition is true. */
export function ensure(condition: boolean, found: string, expected: string): asserts condition {
  if (!condition) throw new Differs(found, expected);
}

export const isSuccess = ({ status }: Answer) => status >= 200 && status < 300;
export const isRefusal = ({ status }: Answer) => status >= 400 && status < 500;
export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function statusIs(answer: Answer, expected: number): void {
  ensure(answer.status === expected, answer.told, `status ${expected}`);
}

export function succeeds(answer: Answer): void {
  ensure(isSuccess(answer), answer.told, 'a success status');
}

export function isSame(what: string, found: unknown, expected: unknown): void {
  ensure(isDeepStrictEqual(found, expected), `${what} ${show(found)}`, show(expected));
}

/** The items of a list. @throws Differs unless it is 200 with an array of objects. */
export function listOf(answer: Answer): Row[] {
  const { status, body } = answer;
  ensure(status === 200 && Array.isArray(body), answer.told, 'status 200 with a JSON array');
  ensure(body.every(isRow), answer.told, 'an array of objects');
  return body;
}

/** The object of an answer. @throws Differs unless it is a success with an object. */
export function rowOf(answer: Answer): Row {
  ensure(isSuccess(answer) && isRow(answer.body), answer.told, 'a success status with a JSON object');
  return answer.body;
}

/** The path, without host, query and a slash at its end, to which `Location` leads. */
export function locationIs(answer: Answer, path: string): void {
  const location = answer.headers.get('location');
  ensure(location !== null, `${answer.told}, without Location`, `Location ${path}`);
  const found = URL.parse(location, 'http://any.invalid')?.pathname.replace(/\/$/, '');
  ensure(found?.endsWith(path) === true, `Location ${location}`, `Location ${path}`);
}

export function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 160);
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

/** The page of one rel. @throws Differs where the header does not tell it. */
export function pageOf(answer: Answer, rel: 'last' | 'next'): number {
  const page = pagesOf(answer)[rel];
  const header = answer.headers.get('link');
  ensure(
    page !== undefined,
    header === null ? `${answer.told}, without Link` : `Link ${header}`,
    `rel "${rel}" with a page`,
  );
  return page;
}

/** Whether the service tells that there is more than page 1. */
export function tellsMore(answer: Answer): boolean {
  const { last = 0, next = 0 } = pagesOf(answer);
  return last > 1 || next > 1;
}
