import { describeError, hintOf, ReviewSyncError } from '../../base/errors.ts';
import { withTimeout } from '../../base/timeout.ts';

/** A result of a `doctor` check. */
export type Finding = {
  level: 'ok' | 'warning' | 'fault';
  what: string;
  /** The next step. Warnings and faults have one. */
  hint?: string;
};

export const ok = (what: string): Finding => ({ level: 'ok', what });
export const warning = (what: string, hint: string): Finding => ({ level: 'warning', what, hint });
export const fault = (what: string, hint: string): Finding => ({ level: 'fault', what, hint });

/** A finding for each rule that applies. */
export const applying = (
  level: (what: string, hint: string) => Finding,
  rules: readonly (readonly [applies: boolean, what: string, hint: string])[],
): Finding[] => rules.flatMap(([applies, what, hint]) => (applies ? [level(what, hint)] : []));

/** A fault of a system. @param variable has its address. @param doing what failed, if the error does not say so. */
export function failed(error: unknown, variable?: string, doing?: string): Finding {
  const otherwise = variable === undefined ? 'read the error' : `check whether ${variable} names the right server`;
  return fault(`${doing ? `${doing}: ` : ''}${describeError(error)}`, hintOf(error, variable) ?? otherwise);
}

/** A person waits for `doctor`. @throws ReviewSyncError if the call takes longer than 8 seconds. */
export const inTime = <T>(call: Promise<T>): Promise<T> =>
  withTimeout(call, 8000, () => {
    const hint = 'check whether it is up and not overloaded, open the firewall, or correct host and port in {address}';
    return new ReviewSyncError('no-response', 'it does not respond within 8 seconds', { hint });
  });

/** Does `work`, then closes `opened` within two seconds: a server may not respond to the close either. */
export async function withClosing<Opened extends AsyncDisposable, T>(
  opened: Opened,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    const closing = Promise.resolve(opened[Symbol.asyncDispose]());
    await withTimeout(closing, 2000, () => new Error('not closed in time')).catch(() => {});
  }
}
