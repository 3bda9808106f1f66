/**
 * The page number of the entry `last`, or undefined where it tells none. Nothing else of the header is used: samples in
 * the wild hold raw commas inside a target, targets without their `?`, and a `next` that points at itself (FACTS). So
 * it is never split on commas, and a target is never followed.
 */
export function lastPage(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  for (const [, target = '', attributes = ''] of header.matchAll(/<([^<>]*)>([^<>]*)/g)) {
    if (!/;\s*rel\s*=\s*(?:"\s*(?:[^"]*\s)?last(?:\s[^"]*)?"|last(?=[\s;,]|$))/i.test(attributes)) continue;
    const page = /[?&;]page=(\d{1,9})(?=[&;#]|$)/.exec(target)?.[1];
    // A page of 0 says nothing: an empty list is seen by its being empty.
    return page === undefined || Number(page) < 1 ? undefined : Number(page);
  }
  return undefined;
}
