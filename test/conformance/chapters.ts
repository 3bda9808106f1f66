import { shapesOf } from './resource.ts';
import { authentication } from './sections/authentication.ts';
import { categories } from './sections/categories.ts';
import { limits } from './sections/limits.ts';
import { orderReading, orderWriting } from './sections/orders.ts';
import { put } from './sections/put.ts';
import { reviewList, reviewPeriod } from './sections/review-list.ts';
import { reviewReading } from './sections/review-reading.ts';
import { review, reviewAlike, reviewWriting } from './sections/review-writing.ts';
import { subOrders } from './sections/sub-orders.ts';
import { userGrades } from './sections/user-grades.ts';
import type { Chapter } from './statement.ts';

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
