import { withoutEntities } from '../../base/html-entities.ts';
import { parseInstant } from '../../base/time/span.ts';
import type { MoneyAmount } from '../../review-api/index.ts';

/**
 * A text as a person reads it, to compare both ends. A service may compose characters, write full-width ones as ASCII,
 * trim or join spaces, and escape a text for HTML (docs/service-facts.md). The shop may have escaped it before.
 */
export const plainText = (text: string): string =>
  withoutEntities(text.replaceAll(/&(?:amp;)+/gi, '&'))
    .normalize('NFKC')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Whether both ends show the same text. Null: no text. */
export const isSameText = (theirs: string | null, ours: string | null): boolean =>
  theirs === ours || (theirs !== null && ours !== null && plainText(theirs) === plainText(ours));

/** `isSameText` for fields of an order or a line: a service may show them in another case. */
export const isSameInAnyCase = (theirs: string | null, ours: string | null): boolean =>
  isSameText(theirs && plainText(theirs).toLowerCase(), ours && plainText(ours).toLowerCase());

/** Whether both are the same parcel number: a service may drop its dashes and spaces. */
export const isSameInvoice = (theirs: string | null, ours: string | null): boolean =>
  isSameInAnyCase(theirs?.replaceAll(/[\s-]/g, '') || theirs, ours?.replaceAll(/[\s-]/g, '') || ours);

/** Options for people: `colour:red, size:S`. Null: none. */
export function optionsText(options: Readonly<Record<string, string>>): string | null {
  const pairs = Object.entries(options).map(([name, value]) => `${name}:${value}`);
  return pairs.length === 0 ? null : pairs.sort().join(', ');
}

/** Dates of the service are exact to the second (docs/interface.md, "Conventions"). */
export function isSameSecond(theirs: string | null | undefined, ours: string | null | undefined): boolean {
  const second = parseInstant(theirs);
  return second === undefined ? (theirs ?? null) === (ours ?? null) : second === parseInstant(ours);
}

/**
 * One text for equal options. Options may come back reordered, trimmed, in lower case, and without empty ones. The
 * service gets `key:value`, and may show the text before the first colon as the key, with or without the spaces beside
 * the colon: `Size: EU` becomes `Size`.
 */
export function optionsKey(options: Readonly<Record<string, string>>): string {
  const filled = Object.entries(options).filter(([, value]) => value.trim() !== '');
  const pairs = filled.map(([key, value]) => plainText(`${key}:${value}`).replaceAll(/\s*:\s*/g, ':'));
  return JSON.stringify(pairs.map((pair) => pair.toLowerCase()).sort());
}

/**
 * How many of a service's `cents` make one unit of the currency: a service counts in whole units, in hundredths or in
 * thousandths (docs/service-facts.md). Undefined: not known, so an amount may be shown in any unit.
 */
export type MoneyUnit = 1 | 100 | 1000 | undefined;
const units = [100, 1, 1000] as const;

/**
 * The unit of a service, from sent and shown amounts: the one that most amounts agree in. An amount may agree in each
 * unit, such as 0.001 shown as 1. Undefined if every amount is 0, or none agrees in any unit.
 */
export function moneyUnitOf(sent: readonly { amount: string; shown: MoneyAmount | null }[]): MoneyUnit {
  const votes = sent.flatMap(({ amount, shown }) =>
    Number(amount) === 0 ? [] : units.filter((unit) => isShownAs(shown, amount, unit)),
  );
  const count = (unit: MoneyUnit) => votes.filter((one) => one === unit).length;
  return votes.length === 0 ? undefined : units.toSorted((a, b) => count(b) - count(a))[0];
}

/** Whether the service shows the amount. `isSent`: the service was sent this amount. */
export const isShownAs = (shown: MoneyAmount | null, amount: string, unit: MoneyUnit, isSent = true): boolean =>
  shown !== null && centsAs(amount, unit, isSent).includes(BigInt(shown.cents));

/**
 * The possible `cents` at the service of an amount in decimal text. The service reads the amount as a float. It may
 * round to either of two cents, and it may cut 19.99, which is 1998.9999999999998 as a float. A float would lose a cent
 * here.
 */
export function centsAs(amount: string, unit: MoneyUnit, isSent = true): bigint[] {
  if (unit === undefined) return units.flatMap((one) => centsAs(amount, one, isSent));
  const isNegative = amount.startsWith('-');
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const digits = String(unit).length - 1;
  const cents = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'));
  const cut = isSent ? BigInt(Math.trunc(Math.abs(Number(amount)) * unit)) : cents;
  return [cents, /[1-9]/.test(fraction.slice(digits)) ? cents + 1n : cut].map((one) => (isNegative ? -one : one));
}

/** A field that differs. Null: no value. `isShown` false: the service does not show the field, so it may differ. */
export type FieldDifference = { field: string; shop: string | null; service: string | null; isShown: boolean };

/** Undefined if both ends are the same, or have no value. @param theirs undefined: the response lacks the field. */
export function fieldDifference(
  field: string,
  ours: string | null | undefined,
  theirs: string | null | undefined,
  isSame: (theirs: string | null, ours: string | null) => boolean = isSameInAnyCase,
): FieldDifference | undefined {
  const shop = ours || null;
  const service = theirs || null;
  if (theirs === undefined) return shop === null ? undefined : { field, shop, service, isShown: false };
  return isSame(service, shop) ? undefined : { field, shop, service, isShown: true };
}

/**
 * The differences that count. If no query selects the column of a field, and no value of it was sent, another
 * integration may have written the service's value, which stays.
 */
export const differencesOfShop = (
  all: readonly (FieldDifference | undefined)[],
  isOfShop: (field: string) => boolean,
) => all.filter((one) => one !== undefined).filter(({ field, shop }) => shop !== null || isOfShop(field));

/** `fieldDifference` for an amount of money. @param theirs null: the service does not show it. */
export function moneyDifference(field: string, ours: string, theirs: MoneyAmount | null, unit: MoneyUnit, sent = ours) {
  const isSame = () => isShownAs(theirs, ours, unit, Number(sent) === Number(ours));
  return fieldDifference(field, ours, theirs ? `${theirs.cents} cents of ${theirs.currency_iso}` : undefined, isSame);
}
