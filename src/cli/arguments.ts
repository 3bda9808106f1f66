import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import { UsageError } from '../base/errors.ts';
import { usableId } from '../base/json-text.ts';

/** Parses the value of an option like a variable of the configuration. */
export const optionOf =
  <T>(kind: v.GenericSchema<string, T>) =>
  (text: string): T => {
    const result = v.safeParse(kind, text);
    if (result.success) return result.output;
    throw new InvalidArgumentError(`expected ${result.issues[0].message}`);
  };

/** The code of an order that a person gave. @throws UsageError if it is blank. */
export function orderCode(text: string): string {
  if (text.trim() === '') throw new UsageError('The order code is empty, expected one order');
  return text;
}

/** @param what `a review`, for the error. @throws UsageError */
export function numberOf(text: string, what: string): number {
  const id = usableId({ id: text });
  if (id !== undefined) return id;
  throw new UsageError(`${JSON.stringify(text)} is not the id of ${what}, expected a number`);
}
