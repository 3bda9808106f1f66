import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { isRecord, parsedJson } from '../../base/json-text.ts';
import type { HttpResponse } from './call.ts';
import { readShape, record, type Shape, ShapeError, text } from './shape.ts';

const unzip = promisify(zlib.unzip);
const unzstd = promisify(zlib.zstdDecompress);
/** The first bytes of these bodies do not show the compression. `deflate`: without the two bytes of zlib. */
const namedOnly = { br: promisify(zlib.brotliDecompress), deflate: promisify(zlib.inflateRaw) };

/**
 * The body as the service wrote it, without a byte order mark. The error code is ERR_BUFFER_TOO_LARGE if the body has
 * more than `maxBytes`, and another one if it is broken.
 */
export async function decodeBody(bytes: Buffer, headers: HttpResponse['headers'], maxBytes: number): Promise<Buffer> {
  let plain = bytes;
  const encodings = headers['content-encoding']?.toLowerCase().split(/\s*,\s*/) ?? [''];
  // The last encoding was applied last.
  for (const name of encodings.reverse()) plain = await decoded(plain, name, { maxOutputLength: maxBytes });
  return plain[0] === 0xef && plain[1] === 0xbb && plain[2] === 0xbf ? plain.subarray(3) : plain;
}

/**
 * Decodes gzip, zlib and zstd by the first bytes of the body: the header may be missing, or still there although a
 * proxy has decoded the body.
 */
function decoded(bytes: Buffer, name: string, options: { maxOutputLength: number }): Buffer | Promise<Buffer> {
  const start = bytes.length > 1 ? bytes.readUInt16BE() : 0;
  if (start === 0x1f8b || (bytes[0] === 0x78 && start % 31 === 0)) return unzip(bytes, options);
  if (start === 0x28b5) return unzstd(bytes, options);
  if ((name !== 'br' && name !== 'deflate') || parsedJson(bytes.toString()) !== undefined) return bytes;
  return namedOnly[name](bytes, options).catch((error) => {
    if (isUtf8(bytes) && error.code !== 'ERR_BUFFER_TOO_LARGE') return bytes;
    throw error;
  });
}

/** Whether the body begins with JSON, or is empty. */
const startsJson = (bytes: Buffer): boolean => /^\s*(?:[[{]|$)/.test(bytes.toString('latin1', 0, 1000));

/** Whether PHP reports, outside the texts of a record, that a program broke off. */
const brokeOff = (body: string): boolean =>
  /\b(?:fatal|parse) error\b/i.test(body.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, ''));

/** The beginning of a record, or of a list of records, in other text: on a line of its own, or behind a tag. */
const beginning = /(?<=[\n>\xbf][ \t]*)(?:\{\s*["}]|\[\s*[{\]])/g;

/** The maximum of bytes to search for a beginning, and of brackets to try. */
const mostText = 20_000;
const mostBeginnings = 50;
/** The start of a web page, or of JSON within one. */
const webPage = /<(?:!doctype|html|head|body|script)\b/i;

/**
 * The JSON between other text, such as warnings of PHP. Undefined if there is no other text, or if the text is part of
 * JSON or of a web page, has a second JSON value, or says that the program broke off.
 */
export function jsonBesideText(bytes: Buffer): { json: Buffer; text: string } | undefined {
  const isFirst = startsJson(bytes);
  if (isFirst && /[\]}]\s*$/.test(bytes.toString('latin1', Math.max(0, bytes.length - 100)))) return undefined;
  // One character for each byte, so that indexes count bytes.
  const body = bytes.toString('latin1');
  const found = body.slice(0, mostText).matchAll(beginning);
  for (const { index } of isFirst ? [{ index: 0 }] : [...found].slice(0, mostBeginnings)) {
    const json = bytes.subarray(index, endOfJson(body, index));
    if (parsedJson(json.toString()) === undefined) continue;
    const before = bytes.toString('utf8', 0, index).trim();
    const behind = bytes.toString('utf8', index + json.length).trim();
    const isPart = /(?:[,[{]|"\s*:)$/.test(before) || /^[,:\]}]/.test(behind) || `\n${behind}`.search(beginning) >= 0;
    const text = `${before}\n${behind}`.trim();
    return isPart || webPage.test(text) || brokeOff(text) ? undefined : { json, text };
  }
  return undefined;
}

/** The index behind the JSON that begins at `from`; the end of the text if it is cut off. */
function endOfJson(text: string, from: number): number {
  let depth = 0;
  for (const found of text.slice(from).matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]/gs)) {
    if (/^[[{]/.test(found[0])) depth += 1;
    else if (/^[\]}]/.test(found[0])) depth -= 1;
    if (depth === 0) return from + found.index + found[0].length;
  }
  return text.length;
}

/**
 * The body as JSON. The message of the parser quotes the body, so it is dropped.
 *
 * @throws ShapeError if the body is not JSON, or not in UTF-8: decoding would change the text silently.
 */
export function parseJson(response: HttpResponse): unknown {
  if (!isUtf8(response.bytes)) throw new ShapeError('expected JSON in UTF-8, got other bytes');
  return parseAnyJson(response);
}

/** `parseJson` with U+FFFD for bytes that are not UTF-8, for callers that keep the bytes and check each record. */
export function parseAnyJson(response: HttpResponse): unknown {
  const body = response.bytes.toString();
  const json = parsedJson(body);
  if (json !== undefined) return json;
  const found = body.trim() === '' ? 'an empty body' : isPage(response.bytes) ? 'HTML' : 'text';
  throw new ShapeError(`expected JSON, got ${found} with status ${response.status}`);
}

/** Reads the body in a shape. @param onBody gets the unchanged record. */
export const reading =
  <T>(shape: Shape<T>, onBody?: (body: unknown) => void) =>
  (response: HttpResponse): T => {
    const body = parseJson(response);
    const value = readShape(shape, body);
    onBody?.(body);
    return value;
  };

/** Whether the service has no such record. 410: it had one. */
export const isMissingStatus = (status: number | undefined): boolean => status === 404 || status === 410;

export const isPage = (bytes: Buffer): boolean => bytes.toString('utf8', 0, 1000).trimStart().startsWith('<');

/** Fields of an error. An object with an id and any field not listed here is a record. */
const errorFields: readonly string[] = ['id', 'error', 'errors', 'success', 'message', 'msg', 'detail', 'details'];

/** Whether the body is an error and not a record: some services send errors with status 200. */
export function isError(bytes: Buffer): boolean {
  // A record is larger, and is not parsed for this.
  if (bytes.length > 4000) return false;
  const body = parsedJson(bytes.toString());
  if (!isRecord(body) || ('id' in body && Object.keys(body).some((name) => !errorFields.includes(name)))) return false;
  const { error, errors, success, ok, status, result, code } = body;
  const isSaid = (said: unknown) =>
    Boolean(said) && !(typeof said === 'object' && Object.keys(said ?? {}).length === 0);
  const isNo = (said: unknown) => said === false || (typeof said === 'string' && /^(error|fail|false$)/i.test(said));
  const isBad = (number: unknown) => typeof number === 'number' && number >= 400;
  return [error, errors].some(isSaid) || [success, ok, status, result].some(isNo) || [code, status].some(isBad);
}

/**
 * Reads nothing: the body of an update or a deletion has no meaning. A web page with a success status comes from a
 * proxy or a log-in (docs/service-facts.md). A 404 may have a web page: web frameworks send one for any address.
 *
 * @throws ShapeError for a web page, or a program that broke off.
 */
export function ignoreBody({ status, bytes }: HttpResponse): void {
  if (isMissingStatus(status)) return;
  if (isPage(bytes)) throw new ShapeError(`expected no web page, got HTML with status ${status}`);
  if (brokeOff(bytes.toString())) throw new ShapeError(`expected no error, got a fatal one with status ${status}`);
}

/** `ignoreBody` for a deletion. @returns whether the service had the record. */
export function wasThere(response: HttpResponse): boolean {
  ignoreBody(response);
  return !isMissingStatus(response.status);
}

/** Checks that the record has the requested id: a proxy may mix up responses. */
export function withSameId<Item extends { id: number }>(item: Item, ours: number): Item {
  if (item.id !== ours) throw new ShapeError(`expected the record with this id, got another one (${item.id})`);
  return item;
}

/**
 * Reads the token, and when to renew it. The spec gives tokens no lifetime. If the response has `expires_in` (seconds),
 * the token is renewed at 90 % of it. A lifetime of decades, such as 2^63 - 1 seconds, counts as unknown.
 */
export function readToken(response: HttpResponse): { token: string; renewAtMs: number } {
  const body = parseJson(response);
  const { access_token: token } = readShape(record({ access_token: text }), body);
  if (token === '') throw new ShapeError('expected text as access_token, got none');
  const seconds = Number((body as { expires_in?: unknown }).expires_in);
  const isKnown = seconds > 0 && seconds < 1e9;
  return { token, renewAtMs: isKnown ? response.requestedAt.getTime() + seconds * 900 : Number.POSITIVE_INFINITY };
}
