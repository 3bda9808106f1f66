import type { Db } from '../warehouse/index.ts';
import { putWebhook } from '../warehouse/webhook-inbox.ts';
import { brandsOf } from './event.ts';
import { shapeOf } from './json-shape.ts';

/** Deeper than any event, and safe for the recursive functions that read and write events. */
const mostLevels = 50;
/** Values in one body. 10,000 events have about 40,000 values. */
const mostValues = 200_000;

/** 200: stored durably. 400: not JSON. 422: not an array, or nested too deeply. */
export type AcceptOutcome = { status: 200; id: number } | { status: 400 | 422; reason: string };

/**
 * Stores a webhook before the response. Only a body that can never be read is refused; events are checked when they are
 * applied.
 *
 * @throws the errors of the database; nothing is stored then.
 */
export async function acceptWebhook(db: Db, text: string): Promise<AcceptOutcome> {
  // Checked before parsing: a small body may have a large tree.
  const { depth, values } = shapeOf(text);
  if (depth > mostLevels) return { status: 422, reason: `expected JSON of at most ${mostLevels} levels` };
  if (values > mostValues) return { status: 422, reason: `expected JSON of at most ${mostValues} values` };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { status: 400, reason: 'the body is not JSON' };
  }
  if (!Array.isArray(body)) return { status: 422, reason: 'expected a JSON array with one object per brand' };
  if (body.length === 0) return { status: 200, id: 0 };
  return { status: 200, id: await putWebhook(db, text, brandsOf(body)) };
}
