import { isRecord } from '../base/json-text.ts';
import { putDeadLetters } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { type AcceptOutcome, roomForDeadLetters } from './accept-webhook.ts';
import { integer } from './event.ts';

/** A brand that takes webhooks. */
export type Receiver = {
  db: Db;
  /** WEBHOOK_BRAND_IDS. */
  brandIds: readonly number[];
  accept(body: unknown): Promise<AcceptOutcome>;
};

/**
 * Stores a webhook body for several brands, each brand's part in its own transaction. If one part is not stored, the
 * service sends the whole body again. Storing a part twice does no harm. The first receiver also gets the parts without
 * a brand_id.
 *
 * @param idsOfOthers brand_ids of brands that are not served now. A body with one of them gets 503, after the parts of
 *   the others are stored.
 * @throws the errors of the database of a brand, after all others have stored theirs.
 */
export async function acceptForBrands(
  receivers: readonly Receiver[],
  idsOfOthers: readonly number[],
  body: unknown,
): Promise<AcceptOutcome> {
  if (!Array.isArray(body)) return { status: 422, reason: 'expected a JSON array with one object per brand' };
  const [first] = receivers;
  const ofId = Map.groupBy<number | undefined, unknown>(body, (part) =>
    isRecord(part) ? integer(part.brand_id) : undefined,
  );
  const notServed = { status: 503, reason: 'a brand cannot be served now' } as const;
  if (!first) return notServed;
  const storing = receivers.map(async (receiver) => {
    const ids = [...receiver.brandIds, ...(receiver === first ? [undefined] : [])];
    const parts = ids.flatMap((id) => ofId.get(id) ?? []);
    return parts.length === 0 ? ({ status: 200 } as const) : receiver.accept(parts);
  });
  const known = receivers.flatMap(({ brandIds }) => brandIds);
  const others = [...ofId].filter(([id]) => id !== undefined && !known.includes(id));
  const unknown = others.filter(([id]) => !idsOfOthers.some((one) => one === id));
  const ends = await Promise.allSettled([...storing, noteUnknown(first.db, unknown)]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  const outcomes = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  if (others.length > unknown.length) return notServed;
  return outcomes.find(({ status }) => status !== 200) ?? { status: 200 };
}

/** Puts one dead letter for each unknown brand_id into the warehouse of the first brand, with its first event only. */
async function noteUnknown(db: Db, unknown: readonly [number | undefined, unknown[]][]): Promise<AcceptOutcome> {
  const reason =
    'no brand has this brand_id in WEBHOOK_BRAND_IDS: add it to the file of its brand, or discard this dead letter. ' +
    'The next runs read the reviews of the events; ratings come with the next webhook';
  const deadLetters = unknown.map(
    ([id, parts]) => ({ kind: 'webhook', key: `brand_id ${id}`, reason, payload: parts.slice(0, 1) }) as const,
  );
  if (deadLetters.length > 0) await putDeadLetters(db, deadLetters.slice(0, await roomForDeadLetters(db)));
  return { status: 200 };
}
