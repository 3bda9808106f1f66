import { createHmac } from 'node:crypto';
import { describeError } from '../../../base/errors.ts';

export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'failed'; reason: string }
  /** The signal came before the answer: nobody is to blame. */
  | { kind: 'interrupted' };

/**
 * One POST of a body; only a 2xx answer delivers it, and redirects are not followed. With a secret it is signed:
 * `X-Signature: sha256=<hex>` is the HMAC-SHA256 of the raw body.
 */
export async function sendWebhook(webhook: {
  url: string;
  secret: string | null;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<Outcome> {
  const { url, secret, body, timeoutMs, signal } = webhook;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(secret !== null && { 'x-signature': signatureOf(body, secret) }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([timeout, signal]),
    });
    // Nobody reads the answer's body, and unread it would hold the connection.
    await response.body?.cancel();
    if (response.ok) return { kind: 'delivered' };
    return { kind: 'failed', reason: `the receiver answered ${response.status}, expected 2xx` };
  } catch (error) {
    if (signal.aborted) return { kind: 'interrupted' };
    if (timeout.aborted) return { kind: 'failed', reason: `the receiver gave no answer within ${timeoutMs} ms` };
    return { kind: 'failed', reason: describeError(error) };
  }
}

function signatureOf(body: string, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
