/** Column values of a row; every name is one that this program wrote, never one from a request. */
export type Fields = Record<string, unknown>;

/** Adds a column unless its parameter was absent. */
export function set(fields: Fields, name: string, value: unknown): void {
  if (value !== undefined) fields[name] = value;
}

/** `a = $2, b = $3` for the columns, numbered after `before` other values. */
export function assignments(fields: Fields, before: number): { sql: string; values: unknown[] } {
  const names = Object.keys(fields);
  return {
    sql: names.map((name, index) => `${name} = $${before + index + 1}`).join(', '),
    values: Object.values(fields),
  };
}
