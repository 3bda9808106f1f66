import { type Context, manyCount, manyReviews, noImage } from '../records.ts';
import type { Params } from '../session.ts';
import * as is from '../statement.ts';

const says = is.inSection('Limits');

const images = (count: number, { settings }: Context): Params => ({
  'image_urls[]': Array.from({ length: count }, (_, index) => `${settings.imageUrl}?${index}`),
});

export const limits: readonly is.Statement[] = [
  ...['orders', 'categories', 'user_grades', 'reviews'].map((kind) =>
    says(`limit (page size) maximum of ${kind}: no page has more than 100`, async ({ get }) => {
      const answer = await get(`/v1/${kind}`, { limit: 101 });
      if (is.isRefusal(answer)) return;
      const { length } = is.listOf(answer);
      is.ensure(length <= 100, `${length} items with limit=101`, 'a refusal, or 100 items at most');
      const { last = 0, next = 0 } = is.pagesOf(answer);
      if (length < 100 && last <= 1 && next <= 1) throw new is.CannotTell(`needs more than 100 records at /v1/${kind}`);
    }),
  ),
  says('page maximum of the review list: 30', async ({ code, get, list, shared }) => {
    const many = await shared(manyReviews);
    const query = { user_code: code('many'), limit: 1 };
    const [thirtieth] = is.idsOf(await list('/v1/reviews', { ...query, page: 30 }));
    is.isSame('the review on page 30', thirtieth, many[29]?.id);
    const answer = await get('/v1/reviews', { ...query, page: 31 });
    if (is.isRefusal(answer)) return;
    const isShown = is.idsOf(is.listOf(answer)).includes(many[manyCount - 1]?.id);
    is.ensure(!isShown, 'the 31st review on page 31', 'a refusal, or nothing beyond page 30');
  }),
  says('image_urls of review create: at most 4', async (context) => {
    const { get, make, until } = context;
    const answer = await make('reviews', 'five-images', images(5, context));
    if (is.isRefusal(answer)) return;
    is.ensure(is.isSuccess(answer), answer.summary, 'a refusal, or four images kept');
    const id = is.isRow(answer.body) ? answer.body.id : undefined;
    const count = await until(noImage, async () => {
      const { images: all } = is.rowOf(await get(`/v1/reviews/${id}`));
      return Array.isArray(all) && all.length > 0 ? all.length : undefined;
    });
    is.ensure(count <= 4, `${count} images`, '4 at most');
  }),
  says('image_urls of review create: 4 are taken', (context) =>
    context.fresh('reviews', 'four-images', images(4, context)),
  ),
  ...(['orders', 'reviews'] as const).map((kind) =>
    says(`time precision of created_at of ${kind}: seconds`, async ({ daysAgo, fresh }) => {
      const shown = [];
      for (const fraction of ['100', '789']) {
        const { iso } = await daysAgo(1, `12:34:56.${fraction}`);
        shown.push((await fresh(kind, `precision-${fraction}`, { created_at: iso })).created_at);
      }
      is.isSame('created_at of 12:34:56.789', shown[1], shown[0]);
    }),
  ),
];
