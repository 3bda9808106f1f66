import { escapeRegExp } from './escape-reg-exp.ts';
import { withoutEntities } from './html-entities.ts';

/** Between two digits of a phone number: spaces, dashes, brackets, invisible characters; plain or percent-encoded. */
const separator = '[ .()/\\p{Zs}\\p{Pd}\\p{Cf}\u2212]|%(?:20|28|29|2D|2E)|%C2%A0|%E2%80%9[0-5]';
const gap = `(?:${separator}|\\+(?=\\d)){0,3}`;
/** An underscore also separates the dates of a window, so it counts only between the usual groups of a number. */
const grouping = '(?:[ ._\\p{Zs}\\p{Pd}\u2212]|%2D|%5F)';

/** Patterns of tokens, passwords in addresses and phone numbers. Order codes, dates and ids stay readable. */
const privatePatterns: readonly [pattern: RegExp, replacement: string][] = [
  [/(?<=\/\/)[^\s/?#@]{1,256}:[^\s/?#@]{1,256}@/g, '[masked]@'],
  [/((?:token|client_secret|authorization)["']?\s*[=:]\s*["']?|bearer\s+)(?=\S*\d)[\w.~+/-]{6,}=*/gi, '$1[masked]'],
  // Month and day of a date do not start a number.
  [new RegExp(`(?<![\\w.]|\\d{4}-|\\d{4}-\\d\\d-)(?:\\+|%2B|\\(?0)(?:${gap}\\d){8,14}(?!\\d)`, 'giu'), '[phone]'],
  // A Korean mobile number in international form without its plus.
  [new RegExp(`(?<![\\w.-])82${gap}0?1[016-9](?:${gap}\\d){7,8}(?!\\d)`, 'giu'), '[phone]'],
  [
    new RegExp(`(?<![\\w-])(?:\\(?\\d{3}\\)?|82_\\d\\d)${grouping}\\d{3,4}${grouping}\\d{4}(?![\\w-])`, 'giu'),
    '[phone]',
  ],
  [
    /(?<!`[\w$-]{1,64}`\.`)(?<!\bTable '[\w$-]{1,64}\.)(?<!\bruns end )\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b/g,
    '[masked]',
  ],
];

/**
 * An at sign and a host, which may be an internationalised name, plain, percent-encoded or as xn--. The limits keep the
 * time in proportion to the length of the text.
 */
const atHost = /(?:@|%40)(?:[\p{L}\p{N}_-]|%[0-9a-f]{2}){1,255}(?:\.(?:[\p{L}\p{N}_-]|%[0-9a-f]{2}){1,255}){1,8}/giu;
/** A character that cannot precede the at sign. */
const noLocalPart = /[\s"'<>:;,()=&?/]/;

function maskAddresses(text: string): string {
  let masked = '';
  let end = 0;
  for (const { index, 0: found } of text.matchAll(atHost)) {
    let start = index;
    while (start > end && !noLocalPart.test(text.charAt(start - 1))) start -= 1;
    if (start === index) continue;
    masked += `${text.slice(end, start)}[e-mail]`;
    end = index + found.length;
  }
  return masked + text.slice(end);
}

/** Characters to read of a text. The patterns take quadratic time: 100 ms for 10,000. */
const maxMasked = 10_000;

/** Secrets to look for. A record with more private texts is probably hostile: someone wants masking to be slow. */
const maxSecrets = 1000;

/** Characters to look for of a secret. If it is longer, the text after these characters is masked, too. */
const maxSecret = 1000;

/**
 * Replaces tokens, e-mail addresses and phone numbers, by patterns. A text longer than `maxMasked` is cut there.
 *
 * @param secrets further values to replace, such as a customer's name, in any case, percent-encoded or JSON-escaped.
 */
export function mask(text: string, secrets: readonly (string | undefined)[] = []): string {
  const distinct = new Set(secrets);
  if (distinct.size > maxSecrets) return '[masked]';
  const patterns = [...distinct].flatMap((secret) => (secret === undefined ? [] : patternsOf(secret)));
  // An entity would hide a name or an address from the patterns.
  let masked = narrow(withoutEntities(text.slice(0, maxMasked)));
  for (const pattern of patterns) masked = masked.replaceAll(pattern, '[masked]');
  masked = maskAddresses(masked);
  for (const [pattern, replacement] of privatePatterns) masked = masked.replaceAll(pattern, replacement);
  if (text.length <= maxMasked) return masked;
  // The cut may be within a secret, so that no pattern matches it: leave out the end of the text.
  return `${masked.endsWith('[masked]') ? masked : masked.slice(0, -maxSecret)}…`;
}

/** Full-width letters, digits and signs, as Korean and Japanese keyboards type them, in their ASCII form. */
const narrow = (text: string) => text.replaceAll(/[\uff01-\uff5e]+/g, (wide) => wide.normalize('NFKC'));

/** Shorter secrets are ignored: they would be found inside other words. */
const minLength = 2;

function patternsOf(secret: string): RegExp[] {
  const trimmed = secret.trim();
  const plain = narrow(trimmed);
  const digits = plain.replaceAll(/\D/g, '');
  const isNumber = digits.length >= 7 && digits.length <= 40 && /^[\d\s+().\-/_\p{Pd}\p{Cf}\u2212]*$/u.test(plain);
  const patterns = [...new Set([...formsOf(plain), ...formsOf(trimmed)])]
    .filter((form) => form.length >= minLength)
    .map((form) => new RegExp(patternOf(form), 'giu'));
  if (!isNumber) return patterns;
  // The national number, without country code and leading zero.
  const core = digits.replace(/^(?:00)?82/, '').replace(/^0+/, '');
  const number = new RegExp(`(?:\\+|%2B)?(?:00)?(?:82)?${gap}0?${[...core].join(gap)}(?!\\d)`, 'giu');
  return core.length >= 7 ? [...patterns, number] : patterns;
}

/** The forms in which a text may come back: unchanged, percent-encoded, form-encoded, JSON-escaped. */
function formsOf(text: string): string[] {
  return [
    text,
    encodeURIComponent(text.toWellFormed()),
    new URLSearchParams({ text }).toString().slice('text='.length),
    text.replaceAll(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ];
}

function patternOf(form: string): string {
  if (form.length <= maxSecret) return escapeRegExp(form);
  // Half of a surrogate pair would not match a whole pair.
  return `${escapeRegExp(form.slice(0, maxSecret).replace(/[\ud800-\udbff]$/, ''))}[^]*`;
}

/** Names of fields that may hold a customer's data or a secret, in lower case and without underscores. */
const privateFields = new Set(
  'accesstoken token clientsecret secret password authorization cookie useremail userphone username email phone name message body payload'.split(
    ' ',
  ),
);

/** Whether the field is never shown: `user_email` and `userEmail` alike. */
export const isPrivateField = (name: string) => privateFields.has(name.replaceAll(/[_-]/g, '').toLowerCase());

/** The values of a record's private fields: they must not appear in an error text about the record. */
export function privateTextsOf(record: unknown, depth = 0): string[] {
  if (typeof record !== 'object' || record === null || depth > 5) return [];
  return Object.entries(record).flatMap(([name, value]) =>
    typeof value === 'string' && isPrivateField(name) ? [value] : privateTextsOf(value, depth + 1),
  );
}

/** A wrong value for an error text. A wrong column may hold customer data: only dates and short numbers are shown. */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = String(value);
  if (/^-?\d{1,6}-\d\d-\d\d([ T][\d:.+ -]*Z?)?$/.test(text) || /^(-?infinity|nan|year -?\d{1,6})$/i.test(text))
    return text;
  const digits = text.replaceAll(/\D/g, '').length;
  if (text === '' || !/^-?\d*(\.\d*)?$/.test(text)) {
    return typeof value === 'string' ? `a text of ${text.length} characters` : text;
  }
  return digits <= 6 ? text : `a number of ${digits} digits`;
}
