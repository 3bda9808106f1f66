import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';

/** An escape, a comma, or the beginning or end of a text, array or object. A pattern of a whole text has a limit of MB. */
const token = /\\.|["[\]{},]/gs;

/** The records of a valid JSON array, each with its original bytes: printed again, numbers would lose digits. */
export function splitRecords(body: Buffer): Buffer[] {
  const records: Buffer[] = [];
  let depth = 0;
  let from = 0;
  let isText = false;
  // One character for each byte, so that indexes count bytes.
  for (const { 0: found, index } of body.toString('latin1').matchAll(token)) {
    if (found === '"') isText = !isText;
    if (isText || found === '"') continue;
    depth += Number('[{'.includes(found)) - Number(']}'.includes(found));
    const isNext = depth === 1 && found === ',';
    if (isNext || depth === 0) {
      const record = body.subarray(from, index);
      if (record.some((byte) => byte > 0x20)) records.push(record);
    }
    if (isNext || (depth === 1 && found === '[')) from = index + 1;
  }
  return records;
}

/** TypeScript does not know it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Columns accept no `5.0` as an integer. Other numbers keep their digits. */
const withWholeNumbers = (_: string, value: unknown, context?: { source?: string }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) ? rawJSON(context?.source ?? '') : value;

/**
 * The record as JSON that Postgres can hold. A record nested too deep to print stays as it is. Undefined if the bytes are
 * not UTF-8, because the intended characters are unknown.
 *
 * @param correct changes values of the record.
 */
export function storableRecord(bytes: Buffer, correct: (record: unknown) => void): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  try {
    const record: unknown = JSON.parse(text, withWholeNumbers);
    correct(record);
    return storable(JSON.stringify(record));
  } catch {
    return storable(text);
  }
}

/** A value as JSON that jsonb accepts. */
export const asStorableJson = (value: unknown): string => storable(JSON.stringify(value) ?? 'null');

/** Postgres has no character NUL and no half of a surrogate pair: each becomes U+FFFD. */
function storable(json: string): string {
  // Hardly any text has such an escape, and the pattern costs as much as the rest of recording an order.
  if (!json.includes('\\u')) return json;
  return json.replaceAll(escapes, (found: string, unit: string | undefined) =>
    unit !== undefined && /^(?:0000|d[89a-f]..)$/i.test(unit) ? '\\ufffd' : found,
  );
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/**
 * Whether a JSON array or object has a number with an exponent of three digits, or maybe a row of 300 digits. Such a row
 * has digits at ten multiples of 30 one after the other. One pattern for both costs six times as much, a tenth of the
 * processor time of an export. A file name such as `2e123f.jpg` is no exponent.
 */
export function mayBeEndless(json: Buffer): boolean {
  let digits = 0;
  for (let at = 0; at < json.length && digits < 10; at += 30) digits = isDigit(json[at]) ? digits + 1 : 0;
  return digits === 10 || /\d[eE][+-]?\d{3,}\s*[,\]}]/.test(json.toString('latin1'));
}

/**
 * A number of the record that JavaScript cannot hold, or undefined. Postgres would write it out: `1e131071` becomes
 * 131,072 digits, and a comparison of many of them takes gigabytes.
 */
export function endlessNumber(record: Buffer): string | undefined {
  let found: string | undefined;
  JSON.parse(record.toString(), (_key, value: unknown, context?: { source?: string }) => {
    const { source = '' } = context ?? {};
    const exponent = Math.abs(Number(/e(.*)$/i.exec(source)?.[1] ?? 0));
    if (typeof value === 'number' && (!Number.isFinite(value) || exponent > 324)) found = source;
    return value;
  });
  return found;
}

/** A whole surrogate pair; any other escape of a code unit; an escape of one character. */
const escapes = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\u([0-9a-f]{4})|\\[^u]/gi;

/** Adds a field to the text of a non-empty JSON object. @param json the field's value as JSON text. */
export function withField(record: string, name: string, json: string): string {
  return `${record.slice(0, record.lastIndexOf('}'))},${JSON.stringify(name)}:${json}}`;
}

/** The parsed text; undefined if it is not JSON. */
export function parsedJson(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** JSON text; undefined for a value nested tens of thousands deep, which can be parsed, but not printed. */
export function printed(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Text, or a number as text: services send codes both ways. Undefined for a number above 2^53 - 1: it lost digits. */
export const scalarText = (value: unknown): string | undefined => {
  if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return String(value);
  return typeof value === 'string' ? value : undefined;
};

/** The id of a record, an integer from 1 to 2^53 - 1, maybe as text; undefined for anything else. */
export function usableId(item: unknown): number | undefined {
  const shown = isRecord(item) ? item.id : undefined;
  const id = typeof shown === 'string' && /^[1-9]\d*$/.test(shown) ? Number(shown) : shown;
  return typeof id === 'number' && Number.isSafeInteger(id) && id >= 1 ? id : undefined;
}

/** Whether a value of JSON is an object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON text without its links, which a service may sign again in each response. */
export const withoutLinks = (json: string): string => json.replaceAll(/"https?:(?:[^"\\]|\\.)*"/gi, '""');

/** JSON text that is equal for equal fields in any order. */
export const sortedJson = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, one: unknown) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );

/** A key for a record without a key. It is equal for equal fields in any order, as the warehouse returns them. */
export const contentKey = (record: unknown): string =>
  `sha256:${hash('sha256', sortedJson(record) ?? '', 'hex').slice(0, 32)}`;
