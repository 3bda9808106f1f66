import type { Session } from './session.ts';

/** Returns if the service does as the sentence says; else throws `Differs` or `CannotTell`. */
export type Check = (session: Session) => Promise<void>;

/** One sentence of the spec, with the heading it stands under. */
export type Statement = { section: string; says: string; check: Check };

/** A part of the spec that can be run alone, by its name. */
export type Chapter = { name: string; statements: readonly Statement[] };

export type Outcome =
  | { kind: 'holds' }
  | { kind: 'differs'; found: string; expected: string }
  | { kind: 'cannot tell'; reason: string };

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

/** The statements, if the spec says so of a resource. */
export const where = (is: unknown, ...statements: readonly Statement[]) => (is ? statements : []);

export const inSection =
  (section: string) =>
  (says: string, check: Check): Statement => ({ section, says, check });
