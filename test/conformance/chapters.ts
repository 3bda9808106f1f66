import { isSame, succeeds } from './expect.ts';
import { records } from './records.ts';
import { read, shapesOf } from './resource.ts';
import { authentication } from './sections/authentication.ts';
import { categories, category } from './sections/categories.ts';
import { limits } from './sections/limits.ts';
import { order, orderReading, orderWriting } from './sections/orders.ts';
import { reviewList, reviewPeriod } from './sections/review-list.ts';
import { reviewReading } from './sections/review-reading.ts';
import { review, reviewAlike, reviewWriting } from './sections/review-writing.ts';
import { subOrders } from './sections/sub-orders.ts';
import { userGrades } from './sections/user-grades.ts';
import { type Chapter, inSection } from './statement.ts';

/** Sub-orders have no other way to be changed: `sub-orders.ts`. */
const put = [order, category, review].map(({ kind, called, text }) =>
  inSection('Endpoints, Update by PUT')(
    `${called} is changed by PUT /v1/${kind}/:id with fields as query parameters`,
    async (session) => {
      const { id } = await records[kind].fresh(session, 'put');
      succeeds(await session.call('PUT', `/v1/${kind}/${id}`, { query: { [text.sent]: 'Put' } }));
      isSame(text.shownAs, (await read(session, kind, id))[text.shownAs], 'Put');
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
  { name: 'review-reading', statements: [...shapesOf(review), ...reviewReading] },
  { name: 'review-list', statements: [...reviewList, ...reviewPeriod] },
  { name: 'review-writes', statements: [...reviewWriting, ...reviewAlike] },
  { name: 'put', statements: put },
  { name: 'limits', statements: limits },
];
