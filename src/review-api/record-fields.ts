/**
 * Some fields of each record of a JSON list, as `JSON.parse` would give them, without making anything of all the others:
 * of a page of an export, a few fields tell whether it is complete, and the rest is only passed on.
 *
 * @returns undefined where the bytes are no JSON list of objects, and where `JSON.parse` has to tell: names written with
 *   escapes, nesting that is deep.
 */
export function recordFields(bytes: Buffer, names: readonly string[]): Record<string, unknown>[] | undefined {
  const wanted = names.map((name) => Buffer.from(name));
  const records: Record<string, unknown>[] = [];
  let at = afterSpace(bytes, hasByteOrderMark(bytes) ? 3 : 0);
  if (bytes[at] !== openBracket) return undefined;
  at = afterSpace(bytes, at + 1);
  if (bytes[at] === closeBracket) return endsAt(bytes, at + 1) ? records : undefined;
  for (;;) {
    const record: Record<string, unknown> = {};
    at = readRecord(bytes, at, record, names, wanted);
    if (at === none) return undefined;
    records.push(record);
    at = afterSpace(bytes, at);
    if (bytes[at] === closeBracket) return endsAt(bytes, at + 1) ? records : undefined;
    if (bytes[at] !== comma) return undefined;
    at = afterSpace(bytes, at + 1);
  }
}

const [quote, backslash, comma, colon, minus, dot] = [0x22, 0x5c, 0x2c, 0x3a, 0x2d, 0x2e];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/** In place of a position: not JSON, or not of the plain kind that is read here. */
const none = -1;
const deepest = 64;

const hasByteOrderMark = (bytes: Buffer) => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
const endsAt = (bytes: Buffer, at: number) => afterSpace(bytes, at) === bytes.length;

/** From the brace of a record to behind its end. Of a name that comes twice the last one counts, as in `JSON.parse`. */
function readRecord(
  bytes: Buffer,
  begin: number,
  record: Record<string, unknown>,
  names: readonly string[],
  wanted: readonly Buffer[],
): number {
  if (bytes[begin] !== openBrace) return none;
  let at = afterSpace(bytes, begin + 1);
  if (bytes[at] === closeBrace) return at + 1;
  for (;;) {
    if (bytes[at] !== quote) return none;
    const nameAt = at + 1;
    const nameEnd = endOfPlain(bytes, nameAt);
    if (nameEnd === none) return none;
    at = afterSpace(bytes, nameEnd + 1);
    if (bytes[at] !== colon) return none;
    const valueAt = afterSpace(bytes, at + 1);
    const valueEnd = afterValue(bytes, valueAt, 2);
    if (valueEnd === none) return none;
    const index = indexOf(bytes, nameAt, nameEnd, wanted);
    if (index >= 0) record[names[index] as string] = parsed(bytes, valueAt, valueEnd);
    at = afterSpace(bytes, valueEnd);
    if (bytes[at] === closeBrace) return at + 1;
    if (bytes[at] !== comma) return none;
    at = afterSpace(bytes, at + 1);
  }
}

function indexOf(bytes: Buffer, from: number, to: number, wanted: readonly Buffer[]): number {
  const length = to - from;
  for (let index = 0; index < wanted.length; index += 1) {
    const name = wanted[index] as Buffer;
    if (name.length !== length) continue;
    let same = 0;
    while (same < length && name[same] === bytes[from + same]) same += 1;
    if (same === length) return index;
  }
  return -1;
}

function parsed(bytes: Buffer, from: number, to: number): unknown {
  if (bytes[from] === quote && endOfPlain(bytes, from + 1) === to - 1) return bytes.toString('utf8', from + 1, to - 1);
  return JSON.parse(bytes.toString('utf8', from, to));
}

function afterSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return at;
}

function afterValue(bytes: Buffer, at: number, depth: number): number {
  switch (bytes[at]) {
    case quote:
      return afterString(bytes, at + 1);
    case openBrace:
      return depth > deepest ? none : afterMembers(bytes, at, closeBrace, depth);
    case openBracket:
      return depth > deepest ? none : afterMembers(bytes, at, closeBracket, depth);
    case 0x74:
      return afterWord(bytes, at, 'true');
    case 0x66:
      return afterWord(bytes, at, 'false');
    case 0x6e:
      return afterWord(bytes, at, 'null');
    default:
      return afterNumber(bytes, at);
  }
}

/** Behind an object or array, `close` being its end. */
function afterMembers(bytes: Buffer, begin: number, close: number, depth: number): number {
  let at = afterSpace(bytes, begin + 1);
  if (bytes[at] === close) return at + 1;
  for (;;) {
    if (close === closeBrace) {
      if (bytes[at] !== quote) return none;
      at = afterString(bytes, at + 1);
      if (at === none) return none;
      at = afterSpace(bytes, at);
      if (bytes[at] !== colon) return none;
      at = afterSpace(bytes, at + 1);
    }
    at = afterValue(bytes, at, depth + 1);
    if (at === none) return none;
    at = afterSpace(bytes, at);
    if (bytes[at] === close) return at + 1;
    if (bytes[at] !== comma) return none;
    at = afterSpace(bytes, at + 1);
  }
}

/** The quote that ends a string without escapes; `none` where it has one, or does not end. */
function endOfPlain(bytes: Buffer, from: number): number {
  let at = from;
  let byte = bytes[at] ?? 0;
  while (byte >= 0x20 && byte !== quote && byte !== backslash) {
    at += 1;
    byte = bytes[at] ?? 0;
  }
  return byte === quote ? at : none;
}

function afterString(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) return at + 1;
    if (byte < 0x20) return none;
    if (byte !== backslash) at += 1;
    else if (bytes[at + 1] === 0x75) {
      if (!isHex(bytes, at + 2)) return none;
      at += 6;
    } else if (isEscape(bytes[at + 1])) at += 2;
    else return none;
  }
}

const escapes = new Set(Buffer.from('"\\/bfnrt'));
const isEscape = (byte: number | undefined) => byte !== undefined && escapes.has(byte);
const isHex = (bytes: Buffer, at: number) => /^[0-9a-f]{4}$/i.test(bytes.toString('latin1', at, at + 4));

function afterWord(bytes: Buffer, at: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) if (bytes[at + index] !== word.charCodeAt(index)) return none;
  return at + word.length;
}

function afterNumber(bytes: Buffer, from: number): number {
  let at = bytes[from] === minus ? from + 1 : from;
  const whole = at;
  at = afterDigits(bytes, at);
  if (at === whole || (bytes[whole] === 0x30 && at > whole + 1)) return none;
  if (bytes[at] === dot) {
    const fraction = at + 1;
    at = afterDigits(bytes, fraction);
    if (at === fraction) return none;
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const exponent = bytes[at + 1] === 0x2b || bytes[at + 1] === minus ? at + 2 : at + 1;
    at = afterDigits(bytes, exponent);
    if (at === exponent) return none;
  }
  return at;
}

function afterDigits(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at] ?? 0; byte >= 0x30 && byte <= 0x39; byte = bytes[at] ?? 0) at += 1;
  return at;
}
