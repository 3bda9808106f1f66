import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { isRecord, parsedJson } from '../../base/json-text.ts';
import type { HttpResponse } from './call.ts';
import { readShape, record, type Shape, ShapeError, text } from './shape.ts';

/** How text begins that is not compressed. A body of brotli may begin with a vertical tab, which \s matches, too. */
const startsText = /^[ \t\r\n[{<"]/;

/** A body that was compressed more often is an attack. */
const mostLayers = 3;

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;
const unzip: Decoder = promisify(zlib.unzip);
/** Node has it from 22.15 on. */
const unzstd: Decoder | undefined = zlib.zstdDecompress && promisify(zlib.zstdDecompress);
/** Encodings that the first bytes do not tell, by their names in `Content-Encoding`. */
const decoders = new Map<string, Decoder>([
  ['br', promisify(zlib.brotliDecompress)],
  ['deflate', promisify(zlib.inflateRaw)],
]);

/**
 * The body as the service wrote it, in UTF-8 and without a byte order mark. Its first bytes say whether it is text, or
 * compressed by gzip, zlib or zstd: the header `Content-Encoding` may be missing, or left from a body that a proxy has decoded
 * already. What they do not tell is decoded by the names in the header, the last one first.
 *
 * @throws Error with the code ERR_BUFFER_TOO_LARGE where it has more than `maxBytes`, and another one where it is broken.
 */
export async function decodeBody(bytes: Buffer, headers: HttpResponse['headers'], maxBytes: number): Promise<Buffer> {
  const names = headers['content-encoding']?.toLowerCase().match(/[\w-]+/g) ?? [];
  const encodings = names.filter((name) => name !== 'identity').reverse();
  let plain = bytes;
  for (let layer = 0; layer < mostLayers && plain.length > 1; layer += 1) {
    const mayBeText = startsText.test(plain.toString('latin1', 0, 1));
    const isZlib = plain[0] === 0x1f ? plain[1] === 0x8b : plain[0] === 0x78 && plain.readUInt16BE() % 31 === 0;
    const isZstd = plain.toString('hex', 0, 4) === '28b52ffd';
    const decode = isZlib ? unzip : isZstd ? unzstd : decoders.get(encodings[layer] ?? '');
    if (!decode) break;
    // Brotli of 64 kB and more begins as text may. Text is no brotli.
    const decoded = decode(plain, { maxOutputLength: maxBytes });
    const next = mayBeText ? await decoded.catch(() => undefined) : await decoded;
    if (!next) break;
    plain = next;
  }
  const charset = charsetOf(plain, headers['content-type']);
  const utf8 = charset === undefined ? plain : Buffer.from(new TextDecoder(charset).decode(plain));
  return utf8[0] === 0xef && utf8[1] === 0xbb && utf8[2] === 0xbf ? utf8.subarray(3) : utf8;
}

/**
 * How the text is written if it is not in UTF-8. JSON begins with two characters of ASCII, so its first bytes tell UTF-16. Bytes
 * that are mostly no UTF-8 are what the header names. Others are UTF-8, even if the header names something else: a record
 * with a broken character is found where it is read.
 */
function charsetOf(bytes: Buffer, contentType = ''): string | undefined {
  const first = bytes.toString('hex', 0, 2);
  if (/^(fffe|[2-7].00)$/.test(first)) return 'utf-16le';
  if (/^(feff|00[2-7].)$/.test(first)) return 'utf-16be';
  const named = /;\s*charset\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1];
  if (named === undefined || isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  const [broken, valid] = [/\ufffd/g, /[^\0-\x7f\ufffd]/gu].map((one) => text.match(one)?.length ?? 0);
  if (Number(broken) <= Number(valid)) return undefined;
  try {
    const { encoding } = new TextDecoder(named);
    return encoding === 'utf-8' ? undefined : encoding;
  } catch {
    return undefined;
  }
}

/** Whether the body begins with JSON, or is empty. */
export const startsJson = (bytes: Buffer): boolean => /^\s*(?:[[{]|$)/.test(bytes.toString('latin1', 0, 1000));

/** How a record, or a list of records, begins. An empty one counts on a line of its own: PHP says "Cannot use [] for reading". */
const beginning = /(?:\[\s*)?\{\s*"\w|(?=[[{])(?<=(?:^|[\n>\xbf])[ \t]*)(?:\[\s*\]|\{\s*\})(?=[ \t\r]*(?:[\n<]|$))/g;

/** A web page may have JSON in a script, or follow an empty list if the program broke off. */
const [isWebPage, beginsWebPage] = [/<(?:!doctype|html|head|body|script)\b/i, /<(?:!doctype|html)\b/i];

/** Whether PHP says, outside of the texts of a record, that a program broke off. It may have begun with an empty list. */
export const brokeOff = (body: string): boolean =>
  /\b(?:fatal|parse) error\b/i.test(body.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, ''));

/**
 * The JSON within other text, such as warnings of PHP before and behind it; the longest one, if a warning has some, too.
 * Undefined if there is no text beside the JSON, or if any JSON in it is not whole.
 */
export function jsonWithin(bytes: Buffer): { json: Buffer; text: string } | undefined {
  // One character a byte, so that an index is one of bytes.
  const body = bytes.toString('latin1');
  let [from, to] = [0, 0];
  beginning.lastIndex = 0;
  for (let found = beginning.exec(body); found; found = beginning.exec(body)) {
    const end = endOfJson(body, found.index);
    if (end === undefined || parsedJson(bytes.toString('utf8', found.index, end)) === undefined) return undefined;
    if (end - found.index > to - from) [from, to] = [found.index, end];
    beginning.lastIndex = end;
  }
  const [before, behind] = [bytes.toString('utf8', 0, from).trim(), bytes.toString('utf8', to).trim()];
  const isPart = /(?:[,[{]|"\s*:)$/.test(before) || /^[,:\]}]/.test(behind);
  if (to === 0 || before + behind === '' || isPart) return undefined;
  if (isWebPage.test(before) || beginsWebPage.test(behind) || brokeOff(`${before} ${behind}`)) return undefined;
  return { json: bytes.subarray(from, to), text: `${before} ${behind}` };
}

/** Where the JSON ends that begins at `start`; undefined if it does not end. */
function endOfJson(text: string, start: number): number | undefined {
  const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]/gs;
  tokens.lastIndex = start;
  let depth = 0;
  for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
    if (/[[{]/.test(found[0][0] ?? '')) depth += 1;
    else if (/[\]}]/.test(found[0][0] ?? '')) depth -= 1;
    if (depth === 0) return tokens.lastIndex;
  }
  return undefined;
}

/** A response without a body that says something other than "carried out". Internal, as `ShapeError`. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmedError';
}

/**
 * The body as JSON. The message of the parser quotes the body, so it is dropped.
 *
 * @throws ShapeError if the body is no JSON, or not in UTF-8: decoding would change the text silently.
 */
export function parseJson(response: HttpResponse): unknown {
  if (!isUtf8(response.bytes)) throw new ShapeError('expected JSON in UTF-8, got other bytes');
  return parseAnyJson(response);
}

/** As `parseJson`, with U+FFFD for bytes that are not UTF-8: for callers that keep the bytes and check each record. */
export function parseAnyJson(response: HttpResponse): unknown {
  const body = response.bytes.toString();
  const json = parsedJson(body);
  if (json !== undefined) return json;
  const found = body.trim() === '' ? 'an empty body' : isPage(response.bytes) ? 'HTML' : 'text';
  throw new ShapeError(`expected JSON, got ${found} with status ${response.status}`);
}

/** Reads the body in a shape. @param what the record, for an error. */
export const reading =
  <T>(shape: Shape<T>, what: string) =>
  (response: HttpResponse): T =>
    readShape(shape, parseJson(response), what);

/** Whether the service has no such record. 410: it had one. */
export const isMissingStatus = (status: number | undefined): boolean => status === 404 || status === 410;

export const isPage = (bytes: Buffer): boolean => bytes.toString('utf8', 0, 1000).trimStart().startsWith('<');

/** Fields by which an error speaks. An object with an id and any other field is a record, whatever else it says. */
const errorFields: readonly string[] = ['id', 'error', 'errors', 'success', 'message', 'msg', 'detail', 'details'];

/** Whether the body is an error, and not a record: some services send errors with status 200. */
export function isError(bytes: Buffer): boolean {
  // A record is larger, and is not parsed for this.
  if (bytes.length > mostErrorBytes) return false;
  const body = parsedJson(bytes.toString());
  if (!isRecord(body) || ('id' in body && Object.keys(body).some((name) => !errorFields.includes(name)))) return false;
  const { error, errors, success, status, result, code } = body;
  const isSaid = (said: unknown) =>
    Boolean(said) && !(typeof said === 'object' && Object.keys(said ?? {}).length === 0);
  const isFailure = [status, result].some((word) => typeof word === 'string' && /^(error|fail)/i.test(word));
  return isSaid(error) || isSaid(errors) || success === false || isFailure || (typeof code === 'number' && code >= 400);
}
const mostErrorBytes = 4000;

/** Statuses by which the service says that it carried an update or a deletion out (docs/interface.md, "Errors"). */
const doneStatuses: readonly number[] = [200, 201, 204];

/**
 * Reads nothing: the body of an update or delete has no meaning, and its status says whether it was carried out. A 404
 * counts if the call takes it for a success.
 *
 * A web page with a success status does not come from the service but from a proxy or a log-in (docs/service-facts.md),
 * so nothing was carried out. A 404 may have one: web frameworks send it for any address.
 *
 * @throws ShapeError for a web page, or a program that broke off.
 * @throws NotConfirmedError for another status such as 202, "accepted": the service may carry the request out later, or
 *   never.
 */
export function ignoreBody({ status, bytes }: HttpResponse): void {
  if (isMissingStatus(status)) return;
  if (isPage(bytes)) throw new ShapeError(`expected no web page, got HTML with status ${status}`);
  if (brokeOff(bytes.toString())) throw new ShapeError(`expected no error, got a fatal one with status ${status}`);
  if (!doneStatuses.includes(status)) throw new NotConfirmedError(`expected status 200, 201 or 204, got ${status}`);
}

/**
 * The record, which was requested by its id. A proxy that mixes up responses must not pass another record off as this
 * one.
 */
export function withSameId<Item extends { id: number }>(item: Item, ours: number): Item {
  if (item.id !== ours) throw new ShapeError(`expected the record with this id, got another one (${item.id})`);
  return item;
}

/**
 * The token, and when it is renewed. The spec gives tokens no lifetime. If the response has `expires_in` (seconds),
 * the token is renewed at 90 % of it. A lifetime of decades, such as 2^63 - 1 seconds, counts as unknown.
 */
export function readToken(response: HttpResponse): { token: string; renewAtMs: number } {
  const body = parseJson(response);
  const { access_token: token } = readShape(record({ access_token: text }), body, 'the token response');
  if (token === '') throw new ShapeError('expected text as access_token, got none');
  const { expires_in } = body as { expires_in?: unknown };
  const seconds = typeof expires_in === 'string' ? Number(expires_in) : expires_in;
  const isKnown = typeof seconds === 'number' && seconds > 0 && seconds < 1e9;
  return { token, renewAtMs: isKnown ? response.requestedAt.getTime() + seconds * 900 : Number.POSITIVE_INFINITY };
}
