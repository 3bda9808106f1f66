import { ensure, locationIs, statusIs } from './expect.ts';
import type { Answer } from './http.ts';
import type { Session } from './session.ts';
import type { Check, Statement } from './statement.ts';

type Says = (says: string, check: Check) => Statement;

/** Of a POST that creates: its status and its `Location`. */
export function createStatements(
  says: Says,
  created: { what: string; location: string; answer: (session: Session) => Promise<Answer> },
): Statement[] {
  const { what, location, answer } = created;
  return [
    says(`${what} answers 201`, async (session) => statusIs(await session.shared(answer), 201)),
    says(`${what} has the Location ${location}`, async (session) => locationIs(await session.shared(answer), location)),
  ];
}

/** Of an update: its status, its `Location` and that it has no body. */
export function updateStatements(
  says: Says,
  updated: { what: string; path: string; send: (session: Session) => Promise<{ answer: Answer; id: number }> },
): Statement[] {
  const { what, path, send } = updated;
  return [
    says(`${what} answers 204`, async (session) => statusIs((await session.shared(send)).answer, 204)),
    says(`${what} has the Location ${path}/:id`, async (session) => {
      const { answer, id } = await session.shared(send);
      locationIs(answer, `${path}/${id}`);
    }),
    says(`${what} has no body`, async (session) => {
      const { answer } = await session.shared(send);
      ensure(answer.text === '', answer.told, 'no body');
    }),
  ];
}
