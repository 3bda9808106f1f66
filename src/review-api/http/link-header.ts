/**
 * The page number of the entry `last` of a `Link` header, or undefined if there is none. Nothing else of the header
 * is used: services send raw commas inside a target, targets without their `?`, and a `next` that points at itself
 * (docs/service-facts.md). So the header is never split on commas, and a target is never followed.
 */
export function lastPage(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  for (const [, target = '', attributes = ''] of header.matchAll(/<([^<>]*)>([^<>]*)/g)) {
    if (!/;\s*rel\s*=\s*(?:"\s*(?:[^"]*\s)?last(?:\s[^"]*)?"|last(?=[\s;,]|$))/i.test(attributes)) continue;
    const page = /[?&;]page=(\d{1,9})(?=[&;#]|$)/.exec(target)?.[1];
    // A page of 0 is ignored: an empty list is recognised by its items.
    return page === undefined || Number(page) < 1 ? undefined : Number(page);
  }
  return undefined;
}
