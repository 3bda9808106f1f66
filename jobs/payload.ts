import * as v from 'valibot';
import { ReviewSyncError } from '../src/base/errors.ts';

/** Checks the payload of a step from the queue: another version may have put it there. @throws ReviewSyncError */
export function parsePayload<T>(schema: v.GenericSchema<unknown, T>, payload: unknown): T {
  const result = v.safeParse(schema, payload, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const where = v.getDotPath(issue) ?? 'the payload';
  // Show the type, not the value: a payload has keys of orders.
  const message = `A job in the queue is malformed: expected ${issue.expected} as ${where}, found ${typeof issue.input}`;
  throw new ReviewSyncError('job', message, {
    hint: 'It was enqueued by another version; run one version on all machines.',
  });
}
