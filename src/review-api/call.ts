/** What a parameter may hold. `undefined` is left out; `null` goes as an empty value, which empties the field. */
export type ParamValue =
  | string
  | number
  | null
  | undefined
  | readonly string[]
  | readonly Readonly<Record<string, string | number | undefined>>[];

export type Params = Readonly<Record<string, ParamValue>>;

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** One request as a resource sees it: no token, no retry, no encoding. */
export type Call = {
  method: Method;
  /** Path below the base address. Never holds a customer's data or a code: it stands in logs and errors. */
  path: string;
  params?: Params;
  /** Whether sending it a second time leaves the service as the first time did. Default true. */
  repeatable?: boolean;
  /** A 404 is what was wanted (deletes: FACTS, 'any 2xx or 404 is success'). */
  absentIsFine?: boolean;
};

/** A whole answer with a status that counts as success. */
export type Answer = {
  status: number;
  /** The body as it came, in UTF-8. */
  bytes: Buffer;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  /** When the request that got this answer was sent, by the local clock. */
  requestedAt: Date;
};

/** Sends a call until it is answered; `read` checks and shapes the answer and throws `ShapeError` on a malformed one. */
export type Send = <T>(call: Call, read: (answer: Answer) => T) => Promise<T>;
