import { ensure } from './expect.ts';
import type { Answer } from './http.ts';

/**
 * The page numbers of the `Link` header by rel, as far as it tells them. Targets may hold commas, so that it is not
 * split at them.
 */
export function pagesOf({ headers }: Answer): Readonly<Record<string, number>> {
  const pages: Record<string, number> = {};
  for (const [, target = '', rel = ''] of (headers.get('link') ?? '').matchAll(/<([^>]*)>\s*;\s*rel="?(\w+)"?/g)) {
    const [, page] = /[?&]page=(\d+)/.exec(target) ?? [];
    if (page !== undefined) pages[rel] = Number(page);
  }
  return pages;
}

/** The page of one rel. @throws Differs where the header does not tell it. */
export function pageOf(answer: Answer, rel: 'last' | 'next'): number {
  const page = pagesOf(answer)[rel];
  const header = answer.headers.get('link');
  ensure(
    page !== undefined,
    header === null ? `${answer.told}, without Link` : `Link ${header}`,
    `rel "${rel}" with a page`,
  );
  return page;
}

/** Whether the service tells that there is more than this page. */
export function tellsMore(answer: Answer, page = 1): boolean {
  const { last = 0, next = 0 } = pagesOf(answer);
  return last > page || next > page;
}
