import type { Session } from './session.ts';
import { CannotTell, type Chapter, Differs, type Outcome, type Statement } from './statement.ts';

export type Result = { chapter: string; section: string; says: string; outcome: Outcome };

/** Checks every statement, one after the other, until the run is ended. */
export async function runChapters(
  session: Session,
  chapters: readonly Chapter[],
  tell: (result: Result) => void = () => {},
): Promise<Result[]> {
  const results: Result[] = [];
  for (const { name, statements } of chapters) {
    for (const statement of statements) {
      if (session.settings.signal?.aborted) return results;
      const { section, says } = statement;
      const result = { chapter: name, section, says, outcome: await outcomeOf(session, statement) };
      results.push(result);
      tell(result);
    }
  }
  return results;
}

async function outcomeOf(session: Session, { check }: Statement): Promise<Outcome> {
  try {
    await check(session);
    return { kind: 'holds' };
  } catch (error) {
    if (error instanceof Differs) return { kind: 'differs', found: error.found, expected: error.expected };
    if (error instanceof CannotTell) return { kind: 'cannot tell', reason: error.message };
    return { kind: 'cannot tell', reason: `the request failed: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
