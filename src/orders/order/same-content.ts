import type { MoneyAmount, SubOrder } from '../../review-api/index.ts';
import type { SubOrderContent } from './order-body.ts';

/**
 * How much a sub-order at the service looks like a line. `exact`: product, options and price agree. `similar`: the product
 * and one of the other two, as where the service, or another integration, reads prices or options in its own way. The
 * product alone is never enough: sizes S and M of one product would be taken for each other.
 */
export function likeness(theirs: SubOrder, ours: SubOrderContent): 'exact' | 'similar' | 'different' {
  if (theirs.product_id !== ours.product_id) return 'different';
  const sameOptions = areSameOptions(theirs.product_options ?? {}, ours.product_options);
  const samePrice = isSamePrice(theirs.price, ours.price);
  if (sameOptions && samePrice) return 'exact';
  return sameOptions || samePrice ? 'similar' : 'different';
}

export function isSamePrice(theirs: MoneyAmount | null, ours: string): boolean {
  return theirs !== null && centsReadAs(ours).includes(BigInt(theirs.cents));
}

/**
 * The `cents` by which the service may show a price. Its money may be in hundredths or in whole units of the currency (FACTS).
 *
 * @param ours decimal text. Compared as whole numbers: a float would lose a cent.
 */
export function centsReadAs(ours: string): bigint[] {
  const hundredths = toHundredths(ours);
  const whole = hundredths % 100n === 0n ? [hundredths / 100n] : [];
  return [...new Set([hundredths, ...whole, roundedToWhole(hundredths)])];
}

/** A price as the service would show it, in hundredths. @param ours decimal text. */
export const centsOf = (ours: string): number => Number(toHundredths(ours));

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

/** Dates of the service are exact to the second (spec, conventions, 4). */
export function isSameSecond(theirs: string | null | undefined, ours: string | null | undefined): boolean {
  return secondOf(theirs) === secondOf(ours);
}

function secondOf(iso: string | null | undefined): number | undefined {
  const milliseconds = Date.parse(iso ?? '');
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

function toHundredths(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.replace('-', '').split('.');
  const digits = `${fraction}000`.slice(0, 3);
  const thousandths = BigInt(whole) * 1000n + BigInt(digits);
  const hundredths = (thousandths + 5n) / 10n;
  return decimal.startsWith('-') ? -hundredths : hundredths;
}

const roundedToWhole = (hundredths: bigint) => (hundredths + 50n) / 100n;

/** The same for options that are the same. */
export function optionsKey(options: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(options).map(([key, value]) => `${key.trim()}:${value.trim()}`);
  return JSON.stringify(pairs.sort());
}
