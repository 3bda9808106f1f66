import { isSame, succeeds } from '../expect.ts';
import { records } from '../records.ts';
import { read } from '../resource.ts';
import { inSection, type Statement } from '../statement.ts';
import { category } from './categories.ts';
import { order } from './orders.ts';
import { review } from './review-writing.ts';

/** Sub-orders have no other way to be changed: `sub-orders.ts`. */
export const put: readonly Statement[] = [order, category, review].map(({ kind, called, text }) =>
  inSection('Endpoints, Update by PUT')(
    `${called} is changed by PUT /v1/${kind}/:id with fields as query parameters`,
    async (session) => {
      const { id } = await records[kind].fresh(session, 'put');
      succeeds(await session.call('PUT', `/v1/${kind}/${id}`, { query: { [text.sent]: 'Put' } }));
      isSame(text.shownAs, (await read(session, kind, id))[text.shownAs], 'Put');
    },
  ),
);
