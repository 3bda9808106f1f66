/** Value of a parameter. `undefined` is left out; `null` is sent as an empty value, which clears the field. */
export type ParamValue =
  | string
  | number
  | null
  | undefined
  | readonly string[]
  | readonly Readonly<Record<string, string | number | undefined>>[];

export type Params = Readonly<Record<string, ParamValue>>;

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Options of a single call. */
export type CallOptions = {
  /**
   * Milliseconds that this call may spend on failed attempts and the waits between them. The call starts no attempt and
   * no wait that would exceed it, and does not cut off an attempt in flight. A 429 and its wait do not count: they are
   * no failure of this record. Default: no limit besides `retry` of the client, about two minutes.
   */
  giveUpAfterMs?: number | undefined;
  /**
   * Called right before each attempt is sent, after all waiting for the token, the request ceiling and `Retry-After`.
   * An error that it throws ends the call, and nothing is sent.
   */
  beforeSend?: (() => void) | undefined;
};

/** One operation of the service, without token, retries and encoding. */
export type Call = CallOptions & {
  method: Method;
  /** Path below the base address. It appears in logs and errors, so it holds neither a code nor a customer's data. */
  path: string;
  params?: Params;
  /** Whether sending it twice has the same effect as sending it once. Default true. */
  repeatable?: boolean;
  /** Whether a 404 is a success: it is for deletes (docs/service-facts.md). */
  notFoundIsSuccess?: boolean;
};

/** A whole response with a status that counts as success. */
export type HttpResponse = {
  status: number;
  /** The unchanged body, in UTF-8. */
  bytes: Buffer;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  /** When the request of this response was sent, by the local clock. */
  requestedAt: Date;
};

/** Sends a call, with retries. `read` turns the response into a value and throws `ShapeError` where it is malformed. */
export type Send = <T>(call: Call, read: (response: HttpResponse) => T) => Promise<T>;
