import { isRow, isSuccess, type Row } from './expect.ts';
import type { Answer, Params } from './http.ts';
import type { Kind, Made } from './ledger.ts';
import type { Session } from './session.ts';
import { CannotTell } from './statement.ts';

export const codeOf = (session: Session, name: string) => `${session.prefix}-${name}`;

/** The shop account of all that is made, unless it says otherwise. */
export const userOf = (session: Session) => codeOf(session, 'user');

/** The parameter that takes the code. Grades have none: their name serves as one. */
export const keyOf = (kind: Kind) => (kind === 'user_grades' ? 'name' : 'code');

/** Creates something by a form, entered in the ledger first. */
export async function post(session: Session, kind: Kind, name: string, params: Params = {}): Promise<Answer> {
  const code = codeOf(session, name);
  const made = enter(session, kind, code);
  const answer = await session.call('POST', `/v1/${kind}`, { form: { [keyOf(kind)]: code, ...params } });
  noteId(session, made, answer);
  return answer;
}

/** As `post`, but the body is JSON. */
export async function postJson(session: Session, kind: Kind, name: string, json: Row): Promise<Answer> {
  const code = codeOf(session, name);
  const made = enter(session, kind, code);
  const answer = await session.call('POST', `/v1/${kind}`, { json: { code, ...json } });
  noteId(session, made, answer);
  return answer;
}

/** For a request that creates under a code of this run; each has its entry, as a service may make two of one code. */
export function enter(session: Session, kind: Kind, code: string): Made {
  const made = { kind, code };
  if (!session.settings.readOnly) session.ledger.push(made);
  return made;
}

/** Keeps the id for the removal, if it is certain that the answer is about what this run made. */
export function noteId(session: Session, made: Made, { body }: Answer): void {
  if (isOwn(session, body) && typeof body.id === 'number') made.id = body.id;
}

/** What was created, as something else is asked about it. @throws CannotTell where it was not. */
export function createdBy(session: Session, answer: Answer): Row & { id: number } {
  if (isSuccess(answer) && !isOwn(session, answer.body)) {
    throw new CannotTell(`needs a record whose answer shows its code, so that no other is changed: ${answer.told}`);
  }
  return addedBy(answer);
}

/** A sub-order that was added: what shows no code, but lies in an order of this run. */
export function addedBy(answer: Answer): Row & { id: number } {
  const { body } = answer;
  if (isSuccess(answer) && isRow(body) && typeof body.id === 'number') return { ...body, id: body.id };
  throw new CannotTell(`needs a record that could not be made: ${answer.told}`);
}

/** A wrong id in an answer must not lead to a record of the shop's. */
export const isOwn = (session: Session, row: unknown): row is Row =>
  isRow(row) && Object.values(row).some((value) => typeof value === 'string' && value.includes(session.prefix));
