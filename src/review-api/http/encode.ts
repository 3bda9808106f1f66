import { shownValue } from '../../base/mask.ts';
import type { Params } from './call.ts';

/**
 * Parameters as form or query text: arrays as repeated `name[]`, arrays of objects as `name[][field]`
 * (docs/interface.md, "Reviews"). A parser of `name[][field]` begins a new item at the first repeated field, so all items
 * must begin with the same field. A space is `%20`, which queries and forms both read; not every server reads `+`.
 */
export function encodeParams(params: Params): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (Array.isArray(value))
      for (const item of value) {
        if (typeof item === 'string') pairs.append(`${name}[]`, item);
        else
          for (const [field, one] of Object.entries(item))
            if (one !== undefined) pairs.append(`${name}[][${field}]`, String(one));
      }
    else if (value === null || typeof value === 'string' || Number.isFinite(value))
      pairs.append(name, `${value ?? ''}`);
    else throw new TypeError(`expected ${name} as text or a number, got ${shownValue(value)}`);
  }
  return pairs.toString().replaceAll('+', '%20').replaceAll('%5B', '[').replaceAll('%5D', ']');
}

/** Options in the format of the service, `<key>:<value>` each. */
export function optionPairs(options: Readonly<Record<string, string>> | undefined): string[] | undefined {
  return options && Object.entries(options).map(([key, value]) => `${key}:${value}`);
}
