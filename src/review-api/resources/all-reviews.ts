import { PageLimitError } from '../review-api-errors.ts';
import { allPages, type Page } from './pages.ts';
import { type ReviewListAllParams, type ReviewListParams, reviewListLimits } from './review-list.ts';
import type { Review } from './review-shapes.ts';

/**
 * All pages of a list of reviews, up to page 30.
 *
 * @throws PageLimitError after page 30, unless the list certainly ends there: that page is empty, or it is short and
 *   has no `Link` header. A `Link` header proves nothing: services name page 30 as the last of any longer list
 *   (docs/service-facts.md).
 */
export async function* allReviews(
  path: string,
  params: ReviewListAllParams,
  list: (params: ReviewListParams) => Promise<Page<Review>>,
): AsyncGenerator<Page<Review>, void, undefined> {
  const { limit = 100 } = params;
  const most = reviewListLimits.page;
  let pages = 0;
  let last: Page<Review> | undefined;
  for await (last of allPages(path, limit, (page) => list({ ...params, page }), most)) {
    pages += 1;
    yield last;
  }
  if (pages < most || last === undefined || last.items.length === 0) return;
  if (last.lastPage === undefined && last.items.length < limit) return;
  throw new PageLimitError({ method: 'GET', path });
}
