import type { MoneyAmount, SubOrder } from '../review-api/index.ts';
import type { SubOrderContent } from './order-body.ts';

/**
 * Whether a sub-order at the service may be this content of ours: the same product, options and price, told in the
 * service's own way (FACTS: options reordered or trimmed, money in hundredths or in whole units).
 */
export function isSameContent(theirs: SubOrder, ours: SubOrderContent): boolean {
  return (
    theirs.product_id === ours.product_id &&
    optionsKey(theirs.product_options) === optionsKey(ours.product_options) &&
    isSamePrice(theirs.price, ours.price)
  );
}

/** @param ours decimal text. Compared as whole numbers: a float would lose a cent. */
export function isSamePrice(theirs: MoneyAmount | null, ours: string): boolean {
  if (theirs === null) return false;
  const hundredths = toHundredths(ours);
  const cents = BigInt(theirs.cents);
  return cents === hundredths || cents * 100n === hundredths || cents === roundedToWhole(hundredths);
}

function toHundredths(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.replace('-', '').split('.');
  const digits = `${fraction}000`.slice(0, 3);
  const thousandths = BigInt(whole) * 1000n + BigInt(digits);
  const hundredths = (thousandths + 5n) / 10n;
  return decimal.startsWith('-') ? -hundredths : hundredths;
}

const roundedToWhole = (hundredths: bigint) => (hundredths + 50n) / 100n;

function optionsKey(options: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(options).map(([key, value]) => `${key.trim()}:${value.trim()}`);
  return JSON.stringify(pairs.sort());
}
