import { isUtf8 } from 'node:buffer';
import { isRecord } from './check-page.ts';

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The records of a valid JSON array, each with its bytes as they came: parsed and printed again, numbers would lose
 * digits.
 */
export function splitRecords(body: Buffer): Buffer[] {
  const records: Buffer[] = [];
  let depth = 0;
  let from = body.indexOf(openBracket) + 1;
  for (let at = from - 1; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) {
      for (at += 1; body[at] !== quote; at += 1) if (body[at] === backslash) at += 1;
    } else if (byte === openBracket || byte === openBrace) depth += 1;
    else if (byte === closeBracket || byte === closeBrace) depth -= 1;
    if ((byte === comma && depth === 1) || (byte === closeBracket && depth === 0)) {
      const record = body.subarray(from, at);
      if (record.some((one) => one > 0x20)) records.push(record);
      from = at + 1;
    }
  }
  return records;
}

/** The field of `extra` that keeps what a text held before `storableRecord` replaced a part of it. */
export const originalField = 'review_sync_original';

/**
 * The record as JSON that `jsonb` can hold. Postgres has no character NUL and no half of a surrogate pair: each becomes
 * U+FFFD, and the fields that had one are kept beside it, as JSON text, under `originalField`.
 *
 * @returns undefined where the bytes are not UTF-8 (nobody knows which characters were meant), and where a field that
 *   has such a character is nested too deeply to be printed.
 */
export function storableRecord(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  const storable = storableJson(text);
  if (storable === text) return text;
  const item: unknown = JSON.parse(text);
  if (!isRecord(item)) return storable;
  const originals: Record<string, string> = {};
  for (const [name, value] of Object.entries(item)) {
    const json = printed({ [name]: value });
    if (json === undefined) return undefined;
    if (json !== storableJson(json)) originals[name] = JSON.stringify(value);
  }
  return withField(storable, originalField, storableJson(JSON.stringify(originals)));
}

/** JSON text with U+FFFD in place of each character that `jsonb` cannot hold. */
function storableJson(json: string): string {
  return json.replaceAll(escapes, (found: string, unit: string | undefined) =>
    unit !== undefined && /^(?:0000|d[89a-f]..)$/i.test(unit) ? '\\ufffd' : found,
  );
}

/** A whole surrogate pair; any other escape of a code unit; an escape of one character. */
const escapes = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\u([0-9a-f]{4})|\\[^u]/gi;

/** The text of a JSON object with one more field, whose value is JSON text. */
export function withField(record: string, name: string, json: string): string {
  const end = record.lastIndexOf('}');
  const isEmpty = /^\s*\{\s*$/.test(record.slice(0, end));
  return `${record.slice(0, end)}${isEmpty ? '' : ','}${JSON.stringify(name)}:${json}}`;
}

/** JSON text; undefined for what is nested tens of thousands deep: it can be parsed, but not printed. */
export function printed(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
