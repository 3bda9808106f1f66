import { ReviewSyncError } from '../src/base/errors.ts';

/** Checks a payload from the queue: another version may have put it there. */
export function object(payload: unknown): Record<string, unknown> {
  if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) {
    return payload as Record<string, unknown>;
  }
  throw malformed('an object', payload);
}

export function text(payload: Record<string, unknown>, name: string): string {
  const value = payload[name];
  if (typeof value === 'string') return value;
  throw malformed(`${name} as text`, value);
}

export function texts(payload: Record<string, unknown>, name: string): string[] {
  const value = payload[name];
  if (Array.isArray(value)) return value.map(String);
  throw malformed(`${name} as a list of texts`, value);
}

export function number(payload: Record<string, unknown>, name: string): number {
  const value = payload[name];
  if (typeof value === 'number') return value;
  throw malformed(`${name} as a number`, value);
}

/** An optional text; left out where it is absent. */
export function optionalText<Name extends string>(
  payload: Record<string, unknown>,
  name: Name,
): { [N in Name]?: string } {
  return payload[name] === undefined ? {} : ({ [name]: text(payload, name) } as { [N in Name]?: string });
}

export function oneOf<T extends string>(payload: Record<string, unknown>, name: string, allowed: readonly T[]): T {
  const value = allowed.find((one) => one === payload[name]);
  if (value !== undefined) return value;
  throw malformed(`${name} as one of ${allowed.join(', ')}`, payload[name]);
}

function malformed(expected: string, found: unknown): ReviewSyncError {
  return new ReviewSyncError('job', `A job in the queue is malformed: expected ${expected}, found ${typeof found}`, {
    hint: 'It was enqueued by another version; run one version on all machines.',
  });
}
