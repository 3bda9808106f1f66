/** A text as it is sent and compared: composed Unicode (NFC), without outer spaces. */
export const normalText = (text: string): string => text.normalize('NFC').trim();

/** Whether two codes are one to a service: it may trim codes, compose their characters, and write them in another case. */
export const isSameCode = (one: string, other: string): boolean =>
  normalText(one).toLowerCase() === normalText(other).toLowerCase();
