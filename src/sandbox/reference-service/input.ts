export type Params = Readonly<Record<string, unknown>>;

/** What a request may carry a value as: absent (undefined), empty (null), or a value. */
type Maybe<T> = T | null | undefined;

export type Input = ReturnType<typeof readInput>;

/**
 * The parameters of a request, in the types that the resources work with. schemas/check-exchange.ts has checked before
 * that their schemas allow them.
 *
 * @param params query, form or JSON fields, merged.
 */
export function readInput(params: Params) {
  /** Dates and amounts stay texts, for Postgres to read: a float would lose cents. */
  function text(name: string): Maybe<string> {
    const value = params[name];
    if (value === undefined) return undefined;
    return value === null || value === '' ? null : String(value);
  }

  return {
    text,
    number(name: string): Maybe<number> {
      const value = text(name);
      return typeof value === 'string' ? Number(value) : value;
    },
    /** "significant only to the second" (docs/interface.md, "What the service does", 4) */
    toTheSecond(name: string): Maybe<string> {
      const value = text(name);
      return typeof value === 'string' ? value.replace(/\.\d+/, '') : value;
    },
    flag(name: string): boolean | undefined {
      const value = text(name);
      return typeof value === 'string' ? value === '1' || value === 'true' : undefined;
    },
    /** Texts of the form `<key>:<value>`, as a list or as an object. */
    options(name: string): Record<string, string> | undefined {
      const value = params[name];
      if (value === undefined) return undefined;
      if (value === null || value === '') return {};
      if (typeof value === 'object' && !Array.isArray(value)) {
        return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one ?? '')]));
      }
      const pairs = [value]
        .flat()
        .map((pair) => String(pair ?? ''))
        .filter((pair) => pair !== '');
      return Object.fromEntries(
        pairs.map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)]),
      );
    },
    list(name: string): unknown[] | undefined {
      const value = params[name];
      if (value === undefined) return undefined;
      return Array.isArray(value) ? value : [];
    },
  };
}

/** The `code` that identifies a record in a path without id. */
export const codeOf = (params: Params): string => String(params.code);
