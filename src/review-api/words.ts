const maxLength = 300;

/** Some patterns below take time by the square of the length. */
const maxRead = 4_000;

/**
 * The service's words from an error's body: the usual fields of a JSON answer, or the text of a page. `secrets` are
 * values that must not show whatever they look like: the token, and what was sent about the customer.
 */
export function wordsOf(body: string, secrets: readonly (string | undefined)[] = []): string | undefined {
  const text = mask(told(body.slice(0, maxRead)), secrets);
  if (text === '') return undefined;
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

function told(body: string): string {
  let text = body;
  try {
    const found: string[] = [];
    for (const { name, words } of sentences(JSON.parse(body), 0)) {
      // Many services say one thing twice, as text and as a list.
      const isKnown = words.length >= 10 && found.some((earlier) => earlier.includes(words));
      if (!isKnown) found.push(name === '' ? words : `${name}: ${words}`);
    }
    if (found.length > 0) text = found.join('; ');
  } catch {
    text = body.replace(/<(script|style|head)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');
  }
  return text.replace(/\s+/g, ' ').trim();
}

/** Error bodies are unspecified: all texts are taken, with the names of the fields that lead to them. */
function* sentences(value: unknown, depth: number, name = ''): Generator<{ name: string; words: string }> {
  if (typeof value === 'string' || typeof value === 'number') yield { name, words: String(value) };
  else if (Array.isArray(value) && depth < 5) for (const item of value) yield* sentences(item, depth + 1, name);
  else if (typeof value === 'object' && value !== null && depth < 5) {
    for (const [key, item] of Object.entries(value)) yield* sentences(item, depth + 1, key);
  }
}

/** Replaces tokens, e-mail addresses and phone numbers. Order codes and dates stay readable. */
export function mask(text: string, secrets: readonly (string | undefined)[] = []): string {
  let masked = text;
  for (const secret of secrets) {
    if (secret === undefined || secret.length < 2) continue;
    for (const form of new Set([secret, encodeURIComponent(secret)])) masked = masked.replaceAll(form, '[masked]');
  }
  return masked
    .replace(
      /((?:token|client_secret|authorization)["']?\s*[=:]\s*["']?|bearer\s+)(?=\S*\d)[\w.~+/-]{6,}=*/gi,
      '$1[masked]',
    )
    .replace(/[^\s"'<>:;,()=]+@[\w-]+(\.[\w-]+)+/g, '[e-mail]')
    .replace(/(?<![\w.])(\+|\(?0)\d([ .()-]{0,2}\d){7,13}(?!\d)/g, '[phone]')
    .replace(/(?<![\w-])\(?\d{3}\)?[ .-]\d{3,4}[ .-]\d{4}(?![\w-])/g, '[phone]')
    .replace(/\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b/g, '[masked]');
}
