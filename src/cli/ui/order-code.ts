import { UsageError } from '../../base/errors.ts';

/** The code of an order that a person gave. @throws UsageError if it is blank. */
export function orderCode(text: string): string {
  if (text.trim() === '') throw new UsageError('The order code is empty, expected one order');
  return text;
}
