/** The source of a regular expression that matches exactly this text. */
export const escapeRegExp = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
