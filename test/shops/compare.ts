import type { ServiceLine, ServiceOrder } from './review-sync.ts';
import type { ShopLine, ShopOrder } from './shop.ts';

/** When the shop and the service were compared before, and which dates of parcels the service had then. */
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
  const [left, right] = [sorted(lines.map(ofShop)), sorted(service.lines.map(ofService))];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [line, found] = [left[at], right[at]];
    if (JSON.stringify(line) !== JSON.stringify(found)) texts.push(unlike('line', line, found));
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

const ofShop = (line: ShopLine): Comparable => comparable(line);

const ofService = ({ shipped, delivered, ...line }: ServiceLine): Comparable =>
  comparable({
    ...line,
    invoice: line.invoice,
    carrier: line.carrier,
    options: line.options ?? {},
    hasLeft: shipped !== undefined,
    hasArrived: delivered !== undefined,
  });

const comparable = (line: Comparable): Comparable => ({
  product: line.product,
  price: line.price,
  status: line.status,
  hasLeft: line.hasLeft,
  hasArrived: line.hasArrived,
  invoice: line.invoice,
  carrier: line.carrier,
  options: Object.fromEntries(Object.entries(line.options).sort()),
});

const sorted = (lines: Comparable[]) => lines.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
