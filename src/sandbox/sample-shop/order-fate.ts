import { day, hour, type Moment, second } from './calendar.ts';
import type { Parcel } from './orders.ts';
import type { Random } from './random.ts';

export type ItemStatus = 'N10' | 'N20' | 'N30' | 'N40' | 'C40' | 'R10' | 'R40' | 'E10';

/** Whether a line of an order stands, and since when. */
export type LineFate = { status: ItemStatus; modifiedAt: Moment; inParcel: boolean };

export type LineCircumstances = {
  orderedAt: Moment;
  parcel: Parcel | undefined;
  inStore: boolean;
  now: Moment;
};

export function lineFate(random: Random, at: LineCircumstances): LineFate {
  const { orderedAt, parcel, inStore, now } = at;
  const wish = random.weighted([
    ['keep', 92],
    ['cancel', 4],
    ['return', 3],
    ['exchange', 1],
  ] as const);
  if (inStore) return { status: 'N40', modifiedAt: orderedAt, inParcel: false };
  if (wish === 'cancel') {
    const cancelledAt = Math.min(orderedAt + random.integer(300, 8 * 3600) * second, now);
    return { status: 'C40', modifiedAt: cancelledAt, inParcel: false };
  }
  if (parcel === undefined) return waiting(orderedAt, now);
  if (parcel.deliveredAt === undefined) return { status: 'N30', modifiedAt: parcel.shippedAt, inParcel: true };
  const askedAt = parcel.deliveredAt + random.integer(12, 144) * hour;
  if (wish === 'keep' || askedAt > now) return { status: 'N40', modifiedAt: parcel.deliveredAt, inParcel: true };
  if (wish === 'exchange') return { status: 'E10', modifiedAt: askedAt, inParcel: true };
  const returnedAt = askedAt + random.integer(2, 6) * day;
  return returnedAt > now
    ? { status: 'R10', modifiedAt: askedAt, inParcel: true }
    : { status: 'R40', modifiedAt: returnedAt, inParcel: true };
}

function waiting(orderedAt: Moment, now: Moment): LineFate {
  const packedAt = orderedAt + 9 * hour;
  return packedAt > now
    ? { status: 'N10', modifiedAt: orderedAt, inParcel: false }
    : { status: 'N20', modifiedAt: packedAt, inParcel: false };
}
