const postTimeoutMs = 10_000;

/** Slack reads <…> as a link and <!channel> as a mention of everybody; only these three characters are special. */
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Posts a message in Slack's format, `{ "text": … }`.
 *
 * @throws Error if the receiver does not respond with 2xx. It does not name the address, which is a secret.
 */
export async function postAlert(url: string, text: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: escaped(text) }),
    // A redirect could send the message anywhere.
    redirect: 'error',
    signal: AbortSignal.timeout(postTimeoutMs),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK_URL responded with ${response.status}, expected 2xx`);
}
