import { InvalidArgumentError } from 'commander';

/** Parses the value of an option: a number in these bounds, both inclusive. */
export function numberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`expected a number from ${least} to ${most}`);
  };
}

/** The same for a whole number. */
export function wholeNumberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text)) return numberFrom(least, most)(text);
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`);
  };
}
