import { authentication } from './sections/authentication.ts';
import { categories, category, userGrades } from './sections/catalog.ts';
import { limits } from './sections/limits.ts';
import { order, orderReading, orderWriting, subOrders } from './sections/orders.ts';
import { reviewLists } from './sections/review-list.ts';
import { review, reviewReading, reviewWriting } from './sections/reviews.ts';
import { type Chapter, inSection, isSame, succeeds } from './statement.ts';

/** Sub-orders have no other way to be changed: `sections/orders.ts`. */
const put = [order, category, review].map(({ kind, called, text }) =>
  inSection('Endpoints, Update by PUT')(
    `${called} is changed by PUT /v1/${kind}/:id with fields as query parameters`,
    async ({ call, fresh, read }) => {
      const { id } = await fresh(kind, 'put');
      succeeds(await call('PUT', `/v1/${kind}/${id}`, { query: { [text.sent]: 'Put' } }));
      isSame(text.shownAs, (await read(kind, id))[text.shownAs], 'Put');
    },
  ),
);

/** The whole spec, in its parts. */
export const chapters: readonly Chapter[] = [
  { name: 'authentication', statements: authentication },
  { name: 'orders', statements: [...orderReading, ...orderWriting] },
  { name: 'sub-orders', statements: subOrders },
  { name: 'categories', statements: categories },
  { name: 'user-grades', statements: userGrades },
  { name: 'review-reading', statements: reviewReading },
  { name: 'review-list', statements: reviewLists },
  { name: 'review-writes', statements: reviewWriting },
  { name: 'put', statements: put },
  { name: 'limits', statements: limits },
];
