import { isSame, type Row, show, succeeds } from './expect.ts';
import type { Answer, Params } from './http.ts';
import type { Session } from './session.ts';
import { CannotTell, type Check, Differs, type Statement } from './statement.ts';

type Value = string | number | readonly string[];

/** A row of a parameter table. `shownAs` is the field that shows it, `as` what it shows if not the same value. */
export type Parameter = {
  name: string;
  value: Value | ((session: Session) => Promise<Value>);
  shownAs?: string;
  as?: (found: unknown, sent: Value) => boolean;
  note?: string;
  /** Why the field may be absent all the same. */
  absentWhere?: string;
};

/**
 * One statement for each parameter of a write: it is taken, and shown where the spec says by which field.
 *
 * @param write sends the parameter alone, with what else is required, of a record whose name no other parameter has;
 *   `read` shows the record afterwards.
 */
export function parameterStatements(
  says: (says: string, check: Check) => Statement,
  table: {
    operation: string;
    parameters: readonly Parameter[];
    write: (session: Session, name: string, params: Params) => Promise<Answer>;
    read: (session: Session, answer: Answer) => Promise<Row>;
  },
): Statement[] {
  return table.parameters.map(({ name, value, shownAs, as, note, absentWhere }, index) => {
    const shown = shownAs === undefined ? 'is taken' : `is shown as ${shownAs}`;
    return says(`${table.operation}: ${name} ${shown}${note ? ` (${note})` : ''}`, async (session) => {
      const sent = typeof value === 'function' ? await value(session) : value;
      const answer = await table.write(session, `${name.replace('[]', '')}-${index}`, { [name]: sent });
      succeeds(answer);
      if (shownAs === undefined) return;
      const found = (await table.read(session, answer))[shownAs];
      if (found === undefined && absentWhere) throw new CannotTell(absentWhere);
      if (as === undefined) isSame(shownAs, found, sent);
      else if (!as(found, sent)) throw new Differs(`${shownAs} ${show(found)}`, `what stands for ${show(sent)}`);
    });
  });
}

/** The same time, to the second. */
export const sameSecond = (found: unknown, sent: Value) =>
  Math.floor(Date.parse(String(found)) / 1000) === Math.floor(Date.parse(String(sent)) / 1000);

/** The amount in a money object: whether `cents` are hundredths depends on the currency. */
export function isAmount(found: unknown, sent: Value): boolean {
  const cents = typeof found === 'object' && found !== null && 'cents' in found ? Number(found.cents) : Number.NaN;
  return [1, 10, 100, 1000].includes(Math.round(cents / Number(sent)));
}

/** `<key>:<value>` pairs, shown as an object. */
export const isPairs = (found: unknown, sent: Value) =>
  typeof found === 'object' &&
  found !== null &&
  Array.isArray(sent) &&
  Object.entries(found)
    .map((pair) => pair.join(':'))
    .sort()
    .join() === [...sent].sort().join();
