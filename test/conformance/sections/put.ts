import { isSame, rowOf, succeeds } from '../expect.ts';
import type { Params } from '../http.ts';
import { addedBy } from '../post.ts';
import { freshCategory, freshOrder, freshReview, productIdOf, readSubOrder } from '../records.ts';
import type { Session } from '../session.ts';
import { inSection, type Statement } from '../statement.ts';

const says = inSection('Endpoints, Update by PUT');

const changes: readonly {
  what: string;
  path: string;
  query: Params;
  shownAs: string;
  make: (session: Session) => Promise<{ id: number }>;
}[] = [
  {
    what: 'an order',
    path: '/v1/orders',
    query: { user_name: 'Put' },
    shownAs: 'username',
    make: (session) => freshOrder(session, 'order-put'),
  },
  {
    what: 'a category',
    path: '/v1/categories',
    query: { name: 'Put' },
    shownAs: 'name',
    make: (session) => freshCategory(session, 'category-put'),
  },
  {
    what: 'a review',
    path: '/v1/reviews',
    query: { message: 'Put' },
    shownAs: 'message',
    make: (session) => freshReview(session, 'review-put'),
  },
];

export const put: readonly Statement[] = [
  ...changes.map(({ what, path, query, shownAs, make }) =>
    says(`${what} is changed by PUT ${path}/:id with fields as query parameters`, async (session) => {
      const { id } = await make(session);
      succeeds(await session.call('PUT', `${path}/${id}`, { query }));
      isSame(shownAs, rowOf(await session.call('GET', `${path}/${id}`))[shownAs], 'Put');
    }),
  ),
  says('a sub-order is changed by PUT on its path with fields as query parameters', async (session) => {
    const { id: orderId } = await freshOrder(session, 'order-of-put');
    const path = `/v1/orders/${orderId}/sub_orders`;
    const form = { product_id: await productIdOf(session), price: 100 };
    const { id } = addedBy(await session.call('POST', path, { form }));
    succeeds(await session.call('PUT', `${path}/${id}`, { query: { invoice: 'Put' } }));
    isSame('invoice', (await readSubOrder(session, orderId, id))?.invoice, 'Put');
  }),
];
