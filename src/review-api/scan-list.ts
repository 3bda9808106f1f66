/**
 * What to find in a list. `fields`: the names whose values are wanted. `plain`: the names that a plain record may have,
 * each with what it may hold: `scalar`, text, a whole number, true, false or null; `any`; `given`, all but null.
 */
export type ListScan = { fields: readonly string[]; plain: Readonly<Record<string, Kind>> };
export type Kind = 'scalar' | 'any' | 'given';

/** `isPlain`: all records are. */
export type ScannedList = { items: Record<string, unknown>[]; isPlain: boolean };

/**
 * Finds some fields of each record of a JSON list, as `JSON.parse` would give them, without making anything of all the
 * others: of a page of an export, a few fields tell whether it is complete, and the rest is only passed on.
 *
 * @returns undefined where the bytes are no JSON list of objects, and where `JSON.parse` has to tell: a byte order mark,
 *   names written with escapes, nesting that is deep.
 */
export function scanList(bytes: Buffer, { fields, plain }: ListScan): ScannedList | undefined {
  const names = new Map<string, Name>();
  for (const text of [...fields, ...Object.keys(plain)]) {
    names.set(text, { text, bytes: Buffer.from(`${text}"`), isWanted: fields.includes(text), kind: plain[text] });
  }
  const reading: Reading = { bytes, names, order: [], record: {}, isPlain: true };
  const items: Record<string, unknown>[] = [];
  let at = afterSpace(bytes, 0);
  if (bytes[at] !== openBracket) return undefined;
  at = afterSpace(bytes, at + 1);
  while (bytes[at] !== closeBracket || items.length > 0) {
    reading.record = {};
    at = afterRecord(reading, at);
    if (at === none) return undefined;
    items.push(reading.record);
    at = afterSpace(bytes, at);
    if (bytes[at] === closeBracket) break;
    if (bytes[at] !== comma) return undefined;
    at = afterSpace(bytes, at + 1);
  }
  return afterSpace(bytes, at + 1) === bytes.length ? { items, isPlain: reading.isPlain } : undefined;
}

/** A name of a record's field; its bytes are those up to and with the quote behind it. */
type Name = { text: string; bytes: Buffer; isWanted: boolean; kind: Kind | undefined };

type Reading = {
  bytes: Buffer;
  names: Map<string, Name>;
  /** The names of the record before, by their place: most records have them in the same order. */
  order: Name[];
  record: Record<string, unknown>;
  isPlain: boolean;
};

const [quote, backslash, comma, colon, minus, dot] = [0x22, 0x5c, 0x2c, 0x3a, 0x2d, 0x2e];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
const [space, zero, nine, firstOfNull, firstOfHex] = [0x20, 0x30, 0x39, 0x6e, 0x75];
/** In place of a position: not JSON, or not of the kind that is read here. */
const none = -1;
const deepest = 64;

/** From the brace of a record to behind its end. Of a name that comes twice the last one counts, as in `JSON.parse`. */
function afterRecord(reading: Reading, begin: number): number {
  const { bytes } = reading;
  if (bytes[begin] !== openBrace) return none;
  let at = afterSpace(bytes, begin + 1);
  if (bytes[at] === closeBrace) return at + 1;
  for (let place = 0; ; place += 1) {
    if (bytes[at] !== quote) return none;
    const name = nameAt(reading, at + 1, place);
    if (name === undefined) return none;
    at = afterSpace(bytes, at + 1 + name.bytes.length);
    if (bytes[at] !== colon) return none;
    const from = afterSpace(bytes, at + 1);
    const to = afterValue(bytes, from, 2);
    if (to === none) return none;
    if (reading.isPlain) reading.isPlain = isPlain(bytes, from, to, name.kind);
    if (name.isWanted) reading.record[name.text] = parsed(bytes, from, to);
    at = afterSpace(bytes, to);
    if (bytes[at] === closeBrace) return at + 1;
    if (bytes[at] !== comma) return none;
    at = afterSpace(bytes, at + 1);
  }
}

function nameAt({ bytes, names, order }: Reading, from: number, place: number): Name | undefined {
  const likely = order[place];
  if (likely && isSame(bytes, from, likely.bytes)) return likely;
  const end = endOfPlain(bytes, from);
  if (end === none) return undefined;
  const text = bytes.toString('utf8', from, end);
  const unknown = { text, bytes: bytes.subarray(from, end + 1), isWanted: false, kind: undefined };
  const name = names.get(text) ?? unknown;
  order[place] = name;
  return name;
}

function isSame(bytes: Buffer, from: number, name: Buffer): boolean {
  for (let index = 0; index < name.length; index += 1) if (bytes[from + index] !== name[index]) return false;
  return true;
}

function isPlain(bytes: Buffer, from: number, to: number, kind: Kind | undefined): boolean {
  if (kind === 'any') return true;
  const first = bytes[from] ?? 0;
  if (kind === 'given') return first !== firstOfNull;
  if (kind === undefined || first === openBrace || first === openBracket || first === minus) return false;
  return first < zero || first > nine || afterDigits(bytes, from) === to;
}

function parsed(bytes: Buffer, from: number, to: number): unknown {
  if (bytes[from] === quote && endOfPlain(bytes, from + 1) === to - 1) return bytes.toString('utf8', from + 1, to - 1);
  return isShortWhole(bytes, from, to) ? whole(bytes, from, to) : JSON.parse(bytes.toString('utf8', from, to));
}

/** Of so many digits each number is exact. */
const isShortWhole = (bytes: Buffer, from: number, to: number) => to - from <= 15 && afterDigits(bytes, from) === to;

function whole(bytes: Buffer, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at += 1) number = number * 10 + (bytes[at] as number) - zero;
  return number;
}

function afterSpace(bytes: Buffer, from: number): number {
  // Most lists have none; asked first, since this is asked behind each name and value.
  if ((bytes[from] as number) > space) return from;
  let at = from;
  while (bytes[at] === space || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
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
    case firstOfNull:
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
  const { length } = bytes;
  for (let at = from; at < length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) return at;
    if (byte < 0x20 || byte === backslash) return none;
  }
  return none;
}

function afterString(bytes: Buffer, from: number): number {
  const { length } = bytes;
  for (let at = from; at < length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) return at + 1;
    if (byte < 0x20) return none;
    if (byte !== backslash) continue;
    at += 1;
    if (bytes[at] === firstOfHex && isHex(bytes, at + 1)) at += 4;
    else if (!isEscape(bytes[at])) return none;
  }
  return none;
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
  const first = at;
  at = afterDigits(bytes, at);
  if (at === first || (bytes[first] === zero && at > first + 1)) return none;
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
  const { length } = bytes;
  let at = from;
  while (at < length && (bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at += 1;
  return at;
}
