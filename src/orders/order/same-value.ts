import { parseInstant } from '../../base/time/span.ts';
import type { MoneyAmount, SubOrder } from '../../review-api/index.ts';
import type { SubOrderContent } from './order-body.ts';

/** Whether product, options and price of a sub-order are those of a line. */
export const isExactly = (theirs: SubOrder, ours: SubOrderContent): boolean =>
  theirs.product_id === ours.product_id &&
  areSameOptions(theirs.product_options ?? {}, ours.product_options) &&
  isSamePrice(theirs.price, ours.price);

export function isSamePrice(theirs: MoneyAmount | null, ours: string): boolean {
  const shown = centsOf(theirs);
  return shown !== undefined && centsReadAs(ours).includes(shown);
}

/** The amount that the service shows, in its own unit. */
export const centsOf = (amount: MoneyAmount | null): bigint | undefined =>
  amount === null ? undefined : BigInt(amount.cents);

/**
 * The `cents` by which the service may show a price. Its money may be in hundredths or in whole units of the currency
 * (docs/service-facts.md).
 *
 * @param ours decimal text. Compared as whole numbers: a float would lose a cent.
 */
export function centsReadAs(ours: string): bigint[] {
  const hundredths = toHundredths(ours);
  return [...new Set([hundredths, roundedToWhole(hundredths)])];
}

/** An amount of the service, for people. */
export const centsText = ({ cents, currency_iso }: MoneyAmount) => `${cents} cents of ${currency_iso}`;

/** Options for people: `colour:red, size:S`. Null: none. */
export function optionsText(options: Readonly<Record<string, string>>): string | null {
  const pairs = Object.entries(options).map(([name, value]) => `${name}:${value}`);
  return pairs.length === 0 ? null : pairs.sort().join(', ');
}

/** Options may come back reordered or trimmed. */
export function areSameOptions(
  theirs: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string>>,
): boolean {
  return optionsKey(theirs) === optionsKey(ours);
}

/** A service may trim codes or write them in another case. */
export function isSameCode(theirs: string, ours: string): boolean {
  return theirs.trim().toLowerCase() === ours.trim().toLowerCase();
}

/** Dates of the service are exact to the second (docs/interface.md, "Conventions"). */
export function isSameSecond(theirs: string | null | undefined, ours: string | null | undefined): boolean {
  const second = parseInstant(theirs);
  return second === undefined ? (theirs ?? null) === (ours ?? null) : second === parseInstant(ours);
}

function toHundredths(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.replace('-', '').split('.');
  const digits = `${fraction}000`.slice(0, 3);
  const thousandths = BigInt(whole) * 1000n + BigInt(digits);
  const hundredths = (thousandths + 5n) / 10n;
  return decimal.startsWith('-') ? -hundredths : hundredths;
}

/** Half of a unit is rounded away from zero. */
const roundedToWhole = (hundredths: bigint) => (hundredths + (hundredths < 0n ? -50n : 50n)) / 100n;

/**
 * The same text for options that are the same. The service is sent `key:value` and may show what is before the first colon
 * as the key, with or without the spaces beside it: of `Size: EU` it makes `Size`.
 */
export function optionsKey(options: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(options).map(([key, value]) => `${key}:${value}`.trim().replaceAll(/\s*:\s*/g, ':'));
  return JSON.stringify(pairs.sort());
}
