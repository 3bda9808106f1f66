import { PageLimitError } from './errors.ts';
import { allPages, type Page } from './pages.ts';
import { type ReviewListAllParams, type ReviewListParams, reviewListLimits } from './review-list.ts';
import type { Review } from './review-shapes.ts';

/** Page sizes of what is asked for when the last page does not tell whether it is the end. */
const newestAtOnce = 100;

/**
 * All pages of a list of reviews, up to page 30.
 *
 * @throws PageLimitError after page 30, where more lie behind it or where it cannot be told.
 */
export async function* allReviews(
  path: string,
  params: ReviewListAllParams,
  list: (params: ReviewListParams) => Promise<Page<Review>>,
): AsyncGenerator<Page<Review>, void, undefined> {
  const { limit = 100 } = params;
  const most = reviewListLimits.page;
  const seen = new Set<number>();
  let pages = 0;
  let last: Page<Review> | undefined;
  for await (last of allPages(path, limit, (page) => list({ ...params, page }), most)) {
    for (const { id } of last.items) seen.add(id);
    pages += 1;
    yield last;
  }
  if (pages < most || last === undefined || last.items.length === 0) return;
  if (last.lastPage === undefined && last.items.length < limit) return;
  // A service may tell 30 for any number of pages (FACTS): what stands at the other end says whether all was seen.
  if ((last.lastPage ?? 0) <= most && (await isEndSeen(params, seen, list))) return;
  throw new PageLimitError({ method: 'GET', path });
}

/** Whether the list, read backwards, begins with what was seen. Where that is one date only, ties could hide the rest. */
async function isEndSeen(
  params: ReviewListAllParams,
  seen: ReadonlySet<number>,
  list: (params: ReviewListParams) => Promise<Page<Review>>,
): Promise<boolean> {
  const { items } = await list({ ...params, limit: newestAtOnce, date_order_desc: !params.date_order_desc });
  const dates = new Set(items.map((review) => (params.date_updated_at ? review.updated_at : review.created_at)));
  return (items.length < newestAtOnce || dates.size > 1) && items.every(({ id }) => seen.has(id));
}
