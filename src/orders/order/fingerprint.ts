import { hash } from 'node:crypto';

/** Hash of what is pushed; equal for values that are equal as JSON with their keys in any order. */
export function fingerprint(value: unknown): string {
  return hash('sha256', JSON.stringify(withSortedKeys(value)), 'base64url');
}

/**
 * A copy with sorted keys. With a replacer, which JSON.stringify calls for each key, a fingerprint takes twice as long.
 */
function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withSortedKeys(inner)]));
}
