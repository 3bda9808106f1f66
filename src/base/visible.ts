/** Control characters except line feed and tab, and characters that change the direction of text or end a line. */
const hidden = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * A text for a terminal: control and bidi characters are shown as `\u{1b}`, because a customer's name must not move the
 * cursor, set the title of the window or reverse what is shown.
 */
export const visible = (text: string): string => shown(text, (code) => `\\u{${code}}`);

/** A value within a line: a line feed in a customer's name would forge a line of the output, or of the log. */
export const oneLine = (text: string): string => visible(text).replaceAll('\n', '\\u{a}');

/** `visible` for JSON, as an escape for the same text. */
export const visibleJson = (json: string): string => shown(json, (code) => `\\u${code.padStart(4, '0')}`);

/** A code as one word of a shell, in a command that a person copies: some shops call an order `#1001`. */
export const shellWord = (code: string): string =>
  /^[\w@%+=:,./-]+$/.test(code) ? code : `'${code.replaceAll("'", `'\\''`)}'`;

const shown = (text: string, form: (code: string) => string) =>
  text.replaceAll(hidden, (character) =>
    character === '\n' || character === '\t' ? character : form(character.charCodeAt(0).toString(16)),
  );
