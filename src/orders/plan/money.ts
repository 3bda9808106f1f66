import type { MoneyAmount } from '../../review-api/index.ts';

/**
 * How many of a service's `cents` make one unit of the currency: a service counts in whole units, in hundredths or in
 * thousandths (docs/service-facts.md).
 */
export type MoneyUnit = 1 | 100 | 1000;
const units: readonly MoneyUnit[] = [100, 1, 1000];

/** An amount of the shop, and the amount that the service shows for it. */
export type ShownAmount = { amount: string; shown: MoneyAmount | null };

/**
 * The unit in which a service counts, by amounts that it was sent and shows: the unit of most of them. Undefined if
 * every amount is 0, or none agrees in any unit.
 */
export function moneyUnitOf(sent: readonly ShownAmount[]): MoneyUnit | undefined {
  const votes = sent.flatMap(({ amount, shown }) =>
    shown === null || Number(amount) === 0 ? [] : units.filter((unit) => isShownAs(shown, amount, unit)).slice(0, 1),
  );
  const count = (unit: MoneyUnit) => votes.filter((vote) => vote === unit).length;
  const [chosen] = units.toSorted((a, b) => count(b) - count(a));
  return votes.length === 0 ? undefined : chosen;
}

/** Whether the service shows the amount. @param unit undefined: in any unit, since nobody knows its unit. */
export const isShownAs = (shown: MoneyAmount | null, amount: string, unit: MoneyUnit | undefined): boolean =>
  shown !== null && centsAs(amount, unit).includes(BigInt(shown.cents));

/**
 * The `cents` by which the service may show an amount. Between two cents a service may round to either, since it reads the
 * amount as a float. Counted as whole numbers here: a float would lose a cent.
 *
 * @param amount decimal text.
 */
export function centsAs(amount: string, unit: MoneyUnit | undefined): bigint[] {
  if (unit === undefined) return [...new Set(units.flatMap((one) => centsAs(amount, one)))];
  const isNegative = amount.startsWith('-');
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const digits = String(unit).length - 1;
  const cents = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'));
  const isBetween = /[1-9]/.test(fraction.slice(digits));
  return (isBetween ? [cents, cents + 1n] : [cents]).map((one) => (isNegative ? -one : one));
}

/** An amount of the service, for people. */
export const centsText = ({ cents, currency_iso }: MoneyAmount) => `${cents} cents of ${currency_iso}`;
