import { isIP } from 'node:net';
import { CronExpressionParser } from 'cron-parser';

/** An address, or a network such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return more.length === 0 && most > 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most));
}

/** What an address of these protocols looks like. */
export const exampleUrl = (protocols: readonly string[]) =>
  protocols.includes('http:') ? 'https://reviews.example.com' : `${protocols[0]}//user:password@host:port/name`;

/** Judged by the parser that BullMQ schedules with, so that what passes here runs there. */
export function isCronPattern(pattern: string): boolean {
  if (pattern.split(/\s+/).length < 5) return false;
  try {
    CronExpressionParser.parse(pattern);
    return true;
  } catch {
    return false;
  }
}

/** An address that paths are put behind: with nothing after its own path, and no password, which would show in errors. */
export function isBaseUrl(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === '';
}
