import { hash } from 'node:crypto';

/** Hash of what is pushed; equal for values that are equal as JSON with their keys in any order. */
export const fingerprint = (value: unknown): string =>
  hash('sha256', JSON.stringify(value, withSortedKeys), 'base64url');

const withSortedKeys = (_key: string, value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
