import type { Params } from './call.ts';

/**
 * Parameters as form or query text: arrays as repeated `name[]`, arrays of objects as `name[][field]`
 * (docs/interface.md, "Reviews").
 */
export function encodeParams(params: Params): string {
  const pairs: string[] = [];
  const add = (name: string, value: string | number) => pairs.push(`${encode(name)}=${encode(String(value))}`);
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (value === null) add(name, '');
    else if (typeof value === 'string' || typeof value === 'number') add(name, value);
    else for (const item of value) addItem(add, name, item);
  }
  return pairs.join('&');
}

/**
 * A parser of `name[][field]` begins a new item at the first repeated field, so all items must begin with the same
 * field.
 */
function addItem(
  add: (name: string, value: string | number) => void,
  name: string,
  item: string | Readonly<Record<string, string | number | undefined>>,
): void {
  if (typeof item === 'string') {
    add(`${name}[]`, item);
    return;
  }
  for (const [field, value] of Object.entries(item)) if (value !== undefined) add(`${name}[][${field}]`, value);
}

/** A space is `%20`, which queries and forms both read; not every server reads `+`. */
function encode(text: string): string {
  // Most names and values need no encoding.
  if (/^[\w.~[\]-]*$/.test(text)) return text;
  return encodeURIComponent(text.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']');
}

/** Options in the format of the service, `<key>:<value>` each. */
export function optionPairs(options: Readonly<Record<string, string>> | undefined): string[] | undefined {
  return options && Object.entries(options).map(([key, value]) => `${key}:${value}`);
}
