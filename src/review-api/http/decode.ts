import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { parsedJson } from '../../base/json-text.ts';
import type { HttpResponse } from './call.ts';

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
