/**
 * The wait that a `Retry-After` header asks for, in milliseconds: seconds or an HTTP date. Undefined where it is absent
 * or unreadable. `nowMs` should be the service's own clock where its `Date` header is known.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const value = header?.trim();
  if (!value) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  // Date.parse reads '-5' and '1e9' as years, so only a text that begins like a date of RFC 9110 is parsed.
  if (!/^[A-Za-z]{3}/.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
