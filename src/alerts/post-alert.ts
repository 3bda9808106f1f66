const timeoutMs = 10_000;

/**
 * One message to a receiver that takes Slack's form, `{ "text": … }`.
 *
 * @throws Error where it is not accepted; it does not name the address, which is a secret.
 */
export async function postAlert(url: string, text: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK_URL answered ${response.status}, expected 2xx`);
}
