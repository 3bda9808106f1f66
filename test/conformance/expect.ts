import { isDeepStrictEqual } from 'node:util';
import type { Answer } from './http.ts';
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
