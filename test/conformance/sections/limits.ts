import { ensure, idsOf, isRefusal, isRow, isSame, isSuccess, listOf, rowOf, tellsMore } from '../expect.ts';
import { clockOf, listed, manyCount, manyReviews, manyUser, noImage, post, records, reviewParams } from '../records.ts';
import type { Kind, Params, Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';

const says = inSection('Limits');

async function isNeverOverHundred(session: Session, kind: Kind): Promise<void> {
  const answer = await session.call('GET', `/v1/${kind}`, { query: { limit: 101 } });
  if (isRefusal(answer)) return;
  const { length } = listOf(answer);
  ensure(length <= 100, `${length} items with limit=101`, 'a refusal, or 100 items at most');
  if (length < 100 && !tellsMore(answer)) throw new CannotTell(`needs more than 100 records at /v1/${kind}`);
}

/** No page after the 30th gives what the pages up to it did not. */
async function thirtyPages(session: Session): Promise<void> {
  const many = await manyReviews(session);
  const query: Params = { user_code: manyUser(session), limit: 1 };
  const [thirtieth] = idsOf(await listed(session, '/v1/reviews', { ...query, page: 30 }));
  isSame('the review on page 30', thirtieth, many[29]?.id);
  const answer = await session.call('GET', '/v1/reviews', { query: { ...query, page: 31 } });
  if (isRefusal(answer)) return;
  const ids = idsOf(listOf(answer));
  ensure(!ids.includes(many[manyCount - 1]?.id), 'the 31st review on page 31', 'a refusal, or nothing beyond page 30');
}

const images = (count: number, { settings }: Session): Params => ({
  'image_urls[]': Array.from({ length: count }, (_, index) => `${settings.imageUrl}?${index}`),
});

/** Five images: refused, or four of them kept. */
async function fourImages(session: Session): Promise<void> {
  const answer = await post(session, 'reviews', 'five-images', { ...reviewParams(session), ...images(5, session) });
  if (isRefusal(answer)) return;
  ensure(isSuccess(answer), answer.told, 'a refusal, or four images kept');
  const id = isRow(answer.body) ? answer.body.id : undefined;
  const count = await session.until(noImage, async () => {
    const { images: all } = rowOf(await session.call('GET', `/v1/reviews/${id}`));
    return Array.isArray(all) && all.length > 0 ? all.length : undefined;
  });
  ensure(count <= 4, `${count} images`, '4 at most');
}

/** Two times of creation within one second are shown as the same time. */
async function isPreciseToSeconds(session: Session, kind: 'orders' | 'reviews'): Promise<void> {
  const make = kind === 'orders' ? records.orders.fresh : records.reviews.fresh;
  const clock = await clockOf(session);
  const shown = [];
  for (const fraction of ['100', '789']) {
    const at = clock.daysAgo(1, `12:34:56.${fraction}`).iso;
    shown.push((await make(session, `precision-${fraction}`, { created_at: at })).created_at);
  }
  isSame('created_at of 12:34:56.789', shown[1], shown[0]);
}

export const limits: readonly Statement[] = [
  ...(['orders', 'categories', 'user_grades', 'reviews'] as const).map((kind) =>
    says(`limit (page size) maximum of ${kind}: no page has more than 100`, (session) =>
      isNeverOverHundred(session, kind),
    ),
  ),
  says('page maximum of the review list: 30', thirtyPages),
  says('image_urls of review create: at most 4', fourImages),
  says('image_urls of review create: 4 are taken', async (session) => {
    await records.reviews.fresh(session, 'four-images', images(4, session));
  }),
  ...(['orders', 'reviews'] as const).map((kind) =>
    says(`time precision of created_at of ${kind}: seconds`, (session) => isPreciseToSeconds(session, kind)),
  ),
];
