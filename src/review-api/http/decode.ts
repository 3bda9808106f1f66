import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';

/** How text begins that is not compressed. A body of brotli may begin with a vertical tab, which \s matches, too. */
const startsText = /^[ \t\r\n[{<"]/;

const decoders = { zlib: promisify(unzip), br: promisify(brotliDecompress) };

/**
 * The body as the service wrote it, without a byte order mark. Its first bytes say whether it is compressed by gzip or
 * deflate: the header `Content-Encoding` may be missing, or left from a body that a proxy has decoded already.
 *
 * @throws Error with the code ERR_BUFFER_TOO_LARGE where it has more than `maxBytes`, and another one where it is broken.
 */
export async function decodeBody(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const isZlib = bytes[0] === 0x1f ? bytes[1] === 0x8b : bytes[0] === 0x78 && bytes.readUInt16BE() % 31 === 0;
  const isBrotli = /\bbr\b/i.test(encoding ?? '') && !startsText.test(bytes.toString('latin1', 0, 1));
  const decode = isZlib ? decoders.zlib : isBrotli ? decoders.br : undefined;
  const plain = decode && bytes.length > 1 ? await decode(bytes, { maxOutputLength: maxBytes }) : bytes;
  return plain[0] === 0xef && plain[1] === 0xbb && plain[2] === 0xbf ? plain.subarray(3) : plain;
}

/** Places of a body that are tried as the beginning of its JSON. */
const mostTried = 10;

/**
 * Splits a body into its JSON and the text before it, such as the warnings of PHP. The JSON begins a line or follows a
 * tag, and goes on to the end of the body. A body without such a text is returned unchanged.
 */
export function splitWarning(bytes: Buffer): { bytes: Buffer; warning?: string } {
  const first = bytes.find((byte) => byte > 0x20);
  if (first === undefined || first === 0x5b || first === 0x7b) return { bytes };
  // One character a byte, so that an index is one of bytes.
  const text = bytes.toString('latin1');
  for (const { index } of [...text.matchAll(/(?<=[\n>]|\xef\xbb\xbf)[[{]/g)].slice(0, mostTried)) {
    const json = bytes.subarray(index);
    try {
      JSON.parse(json.toString());
      return { bytes: json, warning: bytes.toString('utf8', 0, index) };
    } catch {
      // Part of the text before the JSON.
    }
  }
  return { bytes };
}
