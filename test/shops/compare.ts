import type { ServiceLine, ServiceOrder } from './review-sync.ts';
import type { ShopLine, ShopOrder } from './shop.ts';

/** When the shop and the service were compared before, and all dates of parcels that the service has had until then. */
export type Before = { atMs: number; dates: ReadonlySet<string> };

/** Clocks are those of one machine; databases and the service round to seconds. */
const roundingMs = 2000;

/**
 * What the service has that the shop's API does not say, and the other way round: a sentence for each difference.
 *
 * A date of a parcel that is new must lie between the comparison before and now: so a date in a wrong zone is found
 * without asking the shop, whose own API reads some dates in a wrong zone.
 */
export function differences(
  shop: ReadonlyMap<string, ShopOrder>,
  service: readonly ServiceOrder[],
  before: Before,
  nowMs: number,
): string[] {
  const atService = new Map(service.map((order) => [order.code, order]));
  const codes = [...new Set([...shop.keys(), ...atService.keys()])].sort();
  return codes.flatMap((code) => {
    const [expected, found] = [shop.get(code), atService.get(code)];
    if (!expected) return [`${code} is at the service, but not in the shop`];
    if (!found) return [`${code} is in the shop, but not at the service`];
    return orderDifferences(expected, found, before, nowMs).map((text) => `${code}: ${text}`);
  });
}

function orderDifferences(shop: ShopOrder, service: ServiceOrder, before: Before, nowMs: number): string[] {
  const { lines, placedAt, ...expected } = shop;
  const texts: string[] = [];
  for (const [field, value] of Object.entries(expected)) {
    const found = service[field as keyof typeof expected];
    if (found !== value) texts.push(unlike(field, value, found));
  }
  if (Math.abs(Date.parse(placedAt) - Date.parse(service.created)) >= 1000)
    texts.push(unlike('created', placedAt, service.created));
  const [left, right] = [lines.map(textOf).sort(), service.lines.map((line) => textOf(ofService(line))).sort()];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    if (left[at] !== right[at]) texts.push(`line is ${left[at]} in the shop, ${right[at]} at the service`);
  }
  for (const { shipped, delivered } of service.lines) {
    for (const date of [shipped, delivered]) {
      if (date === undefined || before.dates.has(date)) continue;
      const ms = Date.parse(date);
      if (ms < before.atMs - roundingMs || ms > nowMs + roundingMs)
        texts.push(`a parcel's new date is ${date}, expected one since ${new Date(before.atMs).toISOString()}`);
    }
  }
  return texts;
}

export function datesOf(orders: readonly ServiceOrder[]): Set<string> {
  return new Set(
    orders.flatMap(({ lines }) => lines.flatMap(({ shipped, delivered }) => [shipped ?? '', delivered ?? ''])),
  );
}

const unlike = (what: string, shop: unknown, service: unknown) =>
  `${what} is ${JSON.stringify(shop) ?? 'empty'} in the shop, ${JSON.stringify(service) ?? 'empty'} at the service`;

type Comparable = Omit<ShopLine, 'id'>;

const ofService = ({ shipped, delivered, options = {}, ...line }: ServiceLine): Comparable => ({
  ...line,
  invoice: line.invoice,
  carrier: line.carrier,
  options,
  hasLeft: shipped !== undefined,
  hasArrived: delivered !== undefined,
});

/** The fields of a line in one order of names, so that the texts of equal lines are equal. */
const textOf = ({ product, price, status, hasLeft, hasArrived, invoice, carrier, options }: Comparable) =>
  JSON.stringify({ product, price, status, hasLeft, hasArrived, invoice, carrier, options: sorted(options) });
const sorted = (options: object) => Object.fromEntries(Object.entries(options).sort());
