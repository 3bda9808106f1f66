import { normalText } from '../../base/normal-text.ts';
import { parseInstant } from '../../base/time/span.ts';

const escapes: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" };

/**
 * A text as a person reads it, by which both ends are compared: a service may compose its characters, take off outer spaces
 * and escape it for HTML (docs/service-facts.md).
 */
export const plainText = (text: string): string =>
  normalText(text.replaceAll(/&(amp|lt|gt|quot|#39|#x27);/g, (whole, name: string) => escapes[name] ?? whole));

/** Whether both ends show the same text; null: none. */
export const isSameText = (theirs: string | null, ours: string | null): boolean =>
  theirs === ours || (theirs !== null && ours !== null && plainText(theirs) === plainText(ours));

/** Options for people: `colour:red, size:S`. Null: none. */
export function optionsText(options: Readonly<Record<string, string>>): string | null {
  const pairs = Object.entries(options).map(([name, value]) => `${name}:${value}`);
  return pairs.length === 0 ? null : pairs.sort().join(', ');
}

/** Options may come back reordered, trimmed, in lower case, and without those that are empty. */
export function areSameOptions(
  theirs: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string>>,
): boolean {
  return optionsKey(theirs) === optionsKey(ours);
}

/** Dates of the service are exact to the second (docs/interface.md, "Conventions"). */
export function isSameSecond(theirs: string | null | undefined, ours: string | null | undefined): boolean {
  const second = parseInstant(theirs);
  return second === undefined ? (theirs ?? null) === (ours ?? null) : second === parseInstant(ours);
}

/**
 * The same text for options that are the same. The service is sent `key:value` and may show what is before the first colon
 * as the key, with or without the spaces beside it: `Size: EU` becomes `Size`.
 */
export function optionsKey(options: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(options)
    .filter(([, value]) => value.trim() !== '')
    .map(([key, value]) =>
      plainText(`${key}:${value}`)
        .replaceAll(/\s*:\s*/g, ':')
        .toLowerCase(),
    );
  return JSON.stringify(pairs.sort());
}
