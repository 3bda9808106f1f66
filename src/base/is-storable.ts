/** Bytes of a code. Indexes of the warehouse hold two of them in at most 2,704 bytes; real codes are far shorter. */
export const longestCode = 1000;

/** Whether Postgres can hold the text. Most services cannot hold the others either. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');
