type Text = string | number | undefined;

/** Parameters by name. `undefined` is left out; `null` is sent as an empty value, which clears the field. */
export type Params = Readonly<
  Record<string, Text | null | readonly string[] | readonly Readonly<Record<string, Text>>[]>
>;

/** Options of a single call. */
export type CallOptions = {
  /**
   * Milliseconds that this call may spend on failed attempts and its own waits; default: that of `retry`. A 429 and
   * waits of all requests do not count. An attempt in flight is not cut off.
   */
  giveUpAfterMs?: number | undefined;
  /** Whether a 429 for longer than `giveUpAfterMs` ends the call, and holds others only if the overview must wait. */
  countsHolds?: boolean | undefined;
  /** Called right before each attempt, after all waiting. If it throws, its error ends the call unsent. */
  beforeSend?: (() => void) | undefined;
};

/** One operation of the service, without token, retries and encoding. */
export type Call = CallOptions & {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Path below the base address. It appears in logs and errors, so it has neither a code nor customer data. */
  path: string;
  params?: Params;
  /** Whether sending the call twice has the same effect as once. Default true. */
  repeatable?: boolean;
  /** Whether the response must show the present state, and not a cached one. */
  isOfNow?: boolean;
  /** Names of the parameters about a customer. No error shows their values. */
  privateParams?: readonly string[];
};

export const tokenPath = '/oauth/token';

/** A response with its head; the body is decoded and has no byte order mark. */
export type HttpResponse = {
  status: number;
  bytes: Buffer;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  /** How long a cache had kept the response, in milliseconds; 0 if no cache served it. */
  ageMs: number;
  /** Whether a cache served the response, or kept it for more than a minute. */
  isStored: boolean;
  /** When the response was current, by the local clock: the time of its request minus its age. */
  requestedAt: Date;
};

/** Sends a call, with retries. `read` turns the response into a value and throws `ShapeError` if it is malformed. */
export type Send = <T>(call: Call, read: (response: HttpResponse) => T) => Promise<T>;

/** Sends calls of a resource. Parameters of these names are private. */
export const withPrivate =
  (send: Send, privateParams: readonly string[]): Send =>
  (call, read) =>
    send({ ...call, privateParams }, read);
