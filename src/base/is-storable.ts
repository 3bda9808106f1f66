/** Whether Postgres can hold the text. Most services cannot hold the others either. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');
