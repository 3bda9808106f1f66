import type { Params } from './call.ts';

/**
 * Parameters as form or query text: arrays as repeated `name[]`, arrays of objects as `name[][field]` (spec, 'Create or
 * update a review').
 */
export function encodeParams(params: Params): string {
  return [...pairs(params)].map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
}

function* pairs(params: Params): Generator<[string, string]> {
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (value === null) yield [name, ''];
    else if (typeof value === 'string' || typeof value === 'number') yield [name, String(value)];
    else for (const item of value) yield* itemPairs(name, item);
  }
}

/** A parser of `name[][field]` begins a new item at the first repeated field, so all items must begin with the same field. */
function* itemPairs(name: string, item: string | Readonly<Record<string, string | number | undefined>>) {
  if (typeof item === 'string') {
    yield [`${name}[]`, item] as [string, string];
    return;
  }
  for (const [field, value] of Object.entries(item)) {
    if (value !== undefined) yield [`${name}[][${field}]`, String(value)] as [string, string];
  }
}

/** A space is `%20`, which queries and forms both read; not every server reads `+`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']');
}

/** Options in the format of the service, `<key>:<value>` each. */
export function optionPairs(options: Readonly<Record<string, string>> | undefined): string[] | undefined {
  return options && Object.entries(options).map(([key, value]) => `${key}:${value}`);
}
