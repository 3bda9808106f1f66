import { mask } from '../../base/mask.ts';

const maxLength = 300;

/** Some patterns below take time by the square of the length. */
const maxErrorText = 4000;

/**
 * The text of an error response: the strings of a JSON body, or the text of an HTML page. At most 300 characters.
 *
 * @param secrets values to mask whatever they look like: the token, and what was sent about the customer.
 * @returns undefined if the body holds no text.
 */
export function errorText(body: string, secrets: readonly (string | undefined)[] = []): string | undefined {
  const text = mask(plainText(body.slice(0, maxErrorText)), secrets);
  if (text === '') return undefined;
  // The cut may leave half a surrogate pair, which jsonb refuses.
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

function plainText(body: string): string {
  let text = body;
  try {
    const found: string[] = [];
    for (const { field, value } of fieldTexts(JSON.parse(body), 0)) {
      // Many services send the same text twice, as a string and as a list.
      const isRepeated = value.length >= 10 && found.some((earlier) => earlier.includes(value));
      if (!isRepeated) found.push(field === '' ? value : `${field}: ${value}`);
    }
    if (found.length > 0) text = found.join('; ');
  } catch {
    text = body.replace(/<(script|style|head)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');
  }
  // Postgres stores no NUL: a gap or a dead letter with such a reason could not be written.
  return text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** The spec does not describe error bodies, so all strings and numbers are read, each with the name of its field. */
function* fieldTexts(value: unknown, depth: number, field = ''): Generator<{ field: string; value: string }> {
  if (typeof value === 'string' || typeof value === 'number') yield { field, value: String(value) };
  else if (Array.isArray(value) && depth < 5) for (const item of value) yield* fieldTexts(item, depth + 1, field);
  else if (typeof value === 'object' && value !== null && depth < 5) {
    for (const [key, item] of Object.entries(value)) yield* fieldTexts(item, depth + 1, key);
  }
}
