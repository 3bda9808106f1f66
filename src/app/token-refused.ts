/** A token may end now and then. So many refused tokens in an hour have another reason. */
export const refusalsOfNote = 5;

/** For `status` and `doctor`. */
export const tokenRefusedText = (refusedInHour: number): string =>
  `the token was revoked ${refusedInHour} times in an hour: another program uses this client id, or tokens live very short`;

export const tokenRefusedHint =
  'give each program a client id of its own at the service; if this is the only one, ask its makers how long a token lives';
