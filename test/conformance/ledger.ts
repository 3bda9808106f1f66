import { isSuccess } from './expect.ts';
import type { Answer } from './http.ts';
import type { Session } from './session.ts';

/** What can be made; deleting goes in this order, so that nothing is deleted along with another. */
const kinds = ['reviews', 'orders', 'categories', 'user_grades'] as const;
export type Kind = (typeof kinds)[number];

/** Entered before it is made, so that it can be removed even if the answer is lost. */
export type Made = { kind: Kind; code: string; id?: number };

export type Ledger = Made[];

/**
 * Removes all that was made, newest first. Works after the run was ended, too.
 *
 * @returns how many were removed (what a check deleted itself is none of them), and what could not be, a line each.
 */
export async function cleanUp(session: Session): Promise<{ removed: number; left: string[] }> {
  const left: string[] = [];
  let removed = 0;
  for (const kind of kinds) {
    for (const made of session.ledger.filter((one) => one.kind === kind).reverse()) {
      try {
        const answer = await remove(session, made);
        if (answer && isSuccess(answer)) removed += 1;
        else if (answer && answer.status !== 404) left.push(`${nameOf(made)}: ${answer.told}`);
      } catch (error) {
        left.push(`${nameOf(made)}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  session.ledger.length = 0;
  return { removed, left };
}

const nameOf = ({ kind, code, id }: Made) => `${kind} ${id ?? ''} ${code}`.replace('  ', ' ');

async function remove(session: Session, { kind, code, id }: Made): Promise<Answer | undefined> {
  if (id !== undefined) return session.call('DELETE', `/v1/${kind}/${id}`, { afterEnd: true });
  // With an empty code the same path may delete something else.
  if (!code.startsWith(session.prefix)) throw new Error('neither its id nor a code of this run is known');
  if (kind !== 'user_grades') return session.call('DELETE', `/v1/${kind}`, { query: { code }, afterEnd: true });
  const grade = await gradeNamed(session, code);
  return grade === undefined ? undefined : session.call('DELETE', `/v1/user_grades/${grade}`, { afterEnd: true });
}

/** Grades have no code: one whose answer was lost is found by its name. */
async function gradeNamed(session: Session, name: string): Promise<number | undefined> {
  for (let page = 1; page <= 100; page += 1) {
    const { body } = await session.call('GET', '/v1/user_grades', { query: { limit: 100, page }, afterEnd: true });
    if (!Array.isArray(body) || body.length === 0) return undefined;
    const found: unknown = body.find((one) => one?.name === name)?.id;
    if (typeof found === 'number') return found;
  }
  return undefined;
}
