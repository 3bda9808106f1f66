import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';

/** Parses the value of an option as a variable of the configuration is parsed. */
export const optionOf =
  <T>(kind: v.GenericSchema<string, T>) =>
  (text: string): T => {
    const result = v.safeParse(kind, text);
    if (result.success) return result.output;
    throw new InvalidArgumentError(`expected ${result.issues[0].message}`);
  };
