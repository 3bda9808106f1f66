import { CronExpressionParser } from 'cron-parser';

/** Minimum length of a token or secret: 16 random hexadecimal digits have 64 bits. */
export const leastSecret = 16;

/** Whether the value is a placeholder of an example. */
export const isPlaceholder = (text: string) => /change.?me|replace.?me|^(.)\1*$/i.test(text);

/** An example address for these protocols. */
export const exampleUrl = (protocols: readonly string[]) =>
  protocols.includes('http:') ? 'https://reviews.example.com' : `${protocols[0]}//user:password@host:port/name`;

/** Checked with the parser that BullMQ uses. */
export function isCronPattern(pattern: string): boolean {
  if (pattern.split(/\s+/).length < 5) return false;
  try {
    CronExpressionParser.parse(pattern);
    return true;
  } catch {
    return false;
  }
}

/** Whether paths can be added to the address: no query, no fragment, and no password, which would show in errors. */
export function isBaseUrl(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === '';
}
