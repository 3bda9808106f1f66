import { createHash } from 'node:crypto';

/** Hash of what is pushed; equal for values that are equal as JSON with their keys in any order. */
export function fingerprint(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value, (_, inner) => (isPlainObject(inner) ? sortKeys(inner) : inner)))
    .digest('base64url');
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sortKeys(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
