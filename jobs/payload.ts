import * as v from 'valibot';
import type { App } from '../src/app/app.ts';
import { ReviewSyncError } from '../src/base/errors.ts';

/** Checks a payload from the queue: another version may have put it there. @throws ReviewSyncError */
export function parsePayload<T>(schema: v.GenericSchema<unknown, T>, payload: unknown): T {
  const result = v.safeParse(schema, payload, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const where = v.getDotPath(issue) ?? 'the payload';
  // The type, not the value: a payload holds keys of orders.
  const message = `A job in the queue is malformed: expected ${issue.expected} as ${where}, found ${typeof issue.input}`;
  throw new ReviewSyncError('job', message, {
    hint: 'It was enqueued by another version; run one version on all machines.',
  });
}

/** False where it is absent, as in a payload of a schedule. */
export const flag = v.optional(v.boolean(), false);

/**
 * ORDER_CONTACT_MAX_AGE_DAYS and ORDER_DELETES of the command that started the run: a worker with other values may do its
 * steps. Absent, as in a payload of a schedule: each worker goes by its own when it plans a batch or concludes.
 */
export const settings = v.optional(v.object({ contactMaxAgeDays: v.number(), deletes: v.picklist(['off', 'send']) }));

export const settingsOf = ({ config }: App): v.InferOutput<typeof settings> => ({
  contactMaxAgeDays: config.orderContactMaxAgeDays,
  deletes: config.orderDeletes,
});

/** `allowRemovals`: remove lines and orders beyond the day's allowance. */
export const removals = v.object({ allowRemovals: flag, settings });
export type Removals = v.InferOutput<typeof removals>;

/** `from` and `to` of a DayRange. */
export const days = { from: v.optional(v.string()), to: v.optional(v.string()) };
