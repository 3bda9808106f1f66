/** Bytes of a code. Indexes of the warehouse hold two of them in at most 2,704 bytes; real codes are far shorter. */
export const longestCode = 1000;

/** Whether Postgres can hold the text. Most services cannot hold the others either. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

/** Whether a record can be known by this code: it is not blank, not too long, and can be stored. */
export const isUsableCode = (code: string | null | undefined): code is string =>
  typeof code === 'string' && code.trim() !== '' && !isTooLong(code) && isStorable(code);

export const isTooLong = (code: string | null | undefined): boolean =>
  typeof code === 'string' && Buffer.byteLength(code) > longestCode;

/** A text as it is sent and compared: composed Unicode (NFC), without outer spaces. */
export const normalText = (text: string): string => text.normalize('NFC').trim();

/** Whether two codes are one to a service: it may trim codes, compose their characters, and write them in another case. */
export const isSameCode = (one: string, other: string): boolean =>
  normalText(one).toLowerCase() === normalText(other).toLowerCase();
