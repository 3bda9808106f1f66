import type { Db } from '../warehouse/index.ts';
import { putWebhook } from '../warehouse/webhook-inbox.ts';
import { brandsOf } from './event.ts';

/** Deeper than any event, and less deep than what looks through them, or writes them again, can go. */
const mostLevels = 50;

/** Accepted and durable, or why not: 400 no JSON, 422 no array, or one that is nested too deeply. */
export type Accepted = { status: 200; id: number } | { status: 400 | 422; reason: string };

/**
 * Keeps a webhook before it is answered. Only what could never be read is refused: everything else is looked at later.
 *
 * @throws the database's errors; nothing was accepted then.
 */
export async function acceptWebhook(db: Db, text: string): Promise<Accepted> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return {
      status: 400,
      reason: `the body is not JSON: ${error instanceof Error ? error.message : ''}`.slice(0, 200),
    };
  }
  if (!Array.isArray(body)) return { status: 422, reason: 'expected a JSON array with one object a brand' };
  if (isDeeperThan(mostLevels, body)) return { status: 422, reason: `expected JSON of at most ${mostLevels} levels` };
  if (body.length === 0) return { status: 200, id: 0 };
  return { status: 200, id: await putWebhook(db, text, brandsOf(body)) };
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeperThan(levels - 1, one));
}
