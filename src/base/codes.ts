/** Bytes of a code. The warehouse's indexes hold two codes in at most 2,704 bytes. Real codes are far shorter. */
export const longestCode = 1000;

/** Whether Postgres can store the text. Most services cannot store other texts either. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

/** Whether this code can identify a record: it is not blank, not too long, and can be stored. */
export const isUsableCode = (code: string | null | undefined): code is string =>
  typeof code === 'string' && code.trim() !== '' && !isTooLong(code) && isStorable(code);

export const isTooLong = (code: string | null | undefined): boolean =>
  typeof code === 'string' && Buffer.byteLength(code) > longestCode;

/** A text as it is sent and compared: composed Unicode (NFC), without outer spaces. */
export const normalText = (text: string): string => text.normalize('NFC').trim();

/** Whether a service may take two codes for one: it may trim codes, compose their characters, and change their case. */
export const isSameCode = (one: string, other: string): boolean =>
  normalText(one).toLowerCase() === normalText(other).toLowerCase();
