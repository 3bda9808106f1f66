import { describeError } from '../base/errors.ts';
import type { ReviewApiError } from '../review-api/index.ts';
import { keyOf, type NewDeadLetter } from '../warehouse/dead-letters.ts';
import type { Leftover } from '../warehouse/webhook-inbox.ts';
import type { ProductEvent, ReviewEvent } from './event.ts';

/**
 * A record that the service did not return. `isServiceUp`: the service failed on this record, and responded to another
 * request since.
 */
export type Failed = { id: number; error: ReviewApiError; isServiceUp: boolean };

/** An event that could not be applied because the service did not return its record. */
export type Postponed = Failed & { event: ReviewEvent | ProductEvent };

/**
 * Attempts before a record on which the service fails becomes a dead letter: about two hours, because the wait between
 * two attempts doubles from 2 s to 10 minutes.
 */
const attemptsOfARecord = 20;

/** When this many records fail at once, it is an outage of the service. */
const manyRecords = 10;

/**
 * Decides about events that could not be applied.
 *
 * 1. The service responds to nothing, asked for fewer requests, or failed on many records at once: an outage of the
 *    service. These events wait together, without a limit.
 * 2. The service failed on this record, with whatever status or without any response, and responds to others: a failure
 *    of the record. Each such event waits by itself and becomes a dead letter after `attemptsOfARecord`. The dead
 *    letter of a review closes when the review lands.
 *
 * @param taken the attempts so far, this one included, and when the events came.
 */
export function settleOutcomes(
  postponed: readonly Postponed[],
  taken: { attempts: number; receivedAt: Date },
): { deadLetters: NewDeadLetter[]; leftovers: Leftover[] } {
  const { attempts, receivedAt } = taken;
  const seconds = Math.min(600, 2 ** Math.min(attempts, 10));
  const deadLetters: NewDeadLetter[] = [];
  const leftovers: Leftover[] = [];
  const isOutage = postponed.filter(isOfTheRecord).length >= manyRecords;
  const ofTheService = postponed.filter((one) => isOutage || !isOfTheRecord(one));
  const postpone = (events: readonly Postponed[], first: Postponed, attempt: number) => {
    const brandIds = [...new Set(events.map(({ event }) => event.brandId))];
    const body = JSON.stringify(events.map(bodyOf));
    leftovers.push({ body, brandIds, attempts: attempt, seconds, error: describeError(first.error), receivedAt });
  };
  const [first] = ofTheService;
  // Attempts during an outage must not count against a record later, so they stop at 9; `takeWebhooks` adds one.
  if (first) postpone(ofTheService, first, Math.min(attempts, 9));
  for (const one of postponed.filter((other) => !ofTheService.includes(other))) {
    if (attempts < attemptsOfARecord) postpone([one], one, attempts);
    else deadLetters.push(deadLetterOf(one));
  }
  return { deadLetters, leftovers };
}

/** 429 comes from a service that is busy as a whole. */
const isOfTheRecord = ({ error, isServiceUp }: Postponed): boolean =>
  isServiceUp && error.status !== 429 && error.code !== 'review-api.authentication';

/** The event as an object of a webhook's body. */
function bodyOf({ event }: Postponed) {
  const { brandId, id } = event;
  if (event.kind === 'product') return { brand_id: brandId, products: [{ id }] };
  const iso = event.updatedAt?.toISOString();
  const updatedAt = event.precise ? iso : iso?.replace(/\.\d+Z$/, 'Z');
  return { brand_id: brandId, reviews: [{ id, updated_at: updatedAt }] };
}

function deadLetterOf(one: Postponed): NewDeadLetter {
  const reason = describeError(one.error);
  const payload = [bodyOf(one)];
  return one.event.kind === 'review'
    ? { kind: 'review', key: String(one.id), reason, payload }
    : { kind: 'webhook', key: keyOf(payload), reason, payload };
}
