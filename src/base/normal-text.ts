/** A text as it is sent and compared: composed Unicode (NFC), without outer spaces. */
export const normalText = (text: string): string => text.normalize('NFC').trim();
