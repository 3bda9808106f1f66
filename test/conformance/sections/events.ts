import { ensure, isRow, type Row, show, succeeds } from '../expect.ts';
import type { Delivery } from '../receiver.ts';
import { codeOf, records } from '../records.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { type FieldTable, fieldStatements } from '../tables.ts';

const says = inSection('Events');

/** The deliveries so far, or as soon as one of them fits. */
async function delivered<T>(
  session: Session,
  what: string,
  find: (all: readonly Delivery[]) => T | undefined,
): Promise<T> {
  const { receiver } = session.settings;
  if (!receiver) throw new CannotTell('needs a receiver that the service sends to: --receiver-port');
  return session.until(`no event ${what} came`, async () => find(receiver.deliveries));
}

const rowsIn = (value: unknown) => (Array.isArray(value) ? value.filter(isRow) : []);
/** Of the objects of all deliveries, one for each brand. */
const itemsIn = (all: readonly Delivery[], field: string): Row[] =>
  all.flatMap(({ body }) => rowsIn(body).flatMap((brand) => rowsIn(brand[field])));

/** A review of a product that nothing else of this run is of. */
const reviewed = (session: Session) =>
  records.reviews.fresh(session, 'told', {
    product_code: session.settings.productCode ?? codeOf(session, 'product-told'),
  });

const first = async (session: Session) => {
  await session.shared(reviewed);
  return delivered(session, 'at all', ([one]) => one);
};

async function reviewEvent(session: Session): Promise<Row> {
  const { id } = await session.shared(reviewed);
  return delivered(session, 'of the review created', (all) => itemsIn(all, 'reviews').find((one) => one.id === id));
}

async function summary(session: Session): Promise<Row> {
  const { product_id: id } = await session.shared(reviewed);
  return delivered(session, 'of the product’s review count and rating', (all) =>
    itemsIn(all, 'products').find((one) => one.id === id && 'reviews_count' in one),
  );
}

async function productEvent(session: Session): Promise<Row> {
  await session.shared(reviewed);
  return delivered(session, 'of a changed product (change one in the shop while this runs)', (all) =>
    itemsIn(all, 'products').find((one) => !('reviews_count' in one)),
  );
}

const changed: FieldTable = [
  ['integer', 'id'],
  ['datetime', 'updated_at'],
];
const summaryFields: FieldTable = [
  ['integer', 'id reviews_count meta_reviews_count'],
  ['string', 'code'],
  ['number', 'score meta_score'],
];

export const events: readonly Statement[] = [
  says('events are sent by POST', async (session) => {
    const { method } = await session.shared(first);
    ensure(method === 'POST', method, 'POST');
  }),
  says('events have Content-Type: application/json', async (session) => {
    const { contentType } = await session.shared(first);
    ensure(/^application\/json\b/.test(contentType), contentType, 'application/json');
  }),
  says('the body is a JSON array with one object per brand', async (session) => {
    const { body } = await session.shared(first);
    ensure(Array.isArray(body) && body.every(isRow), show(body), 'an array of objects');
    const brands = body.map((brand) => brand.brand_id);
    ensure(new Set(brands).size === brands.length, `brand_id ${brands.join()}`, 'each brand once');
  }),
  says('each object has brand_id: integer (shop code)', async (session) => {
    const { body } = await session.shared(first);
    const [brand] = Array.isArray(body) ? body : [];
    ensure(isRow(brand) && Number.isInteger(brand.brand_id), show(brand), 'brand_id, an integer');
  }),
  says('review created or updated: fires when a review is updated', async (session) => {
    const { id } = await session.shared(reviewed);
    const before = await session.shared(reviewEvent);
    succeeds(await session.call('PATCH', `/v1/reviews/${id}`, { form: { score: 1 } }));
    await delivered(session, 'of the review updated', (all) =>
      itemsIn(all, 'reviews').find((one) => one.id === id && one.updated_at !== before.updated_at),
    );
  }),
  ...fieldStatements('Events', 'an item of `reviews`', changed, reviewEvent),
  ...fieldStatements('Events', 'a summary in `products`', summaryFields, summary),
  ...fieldStatements('Events', 'a changed product in `products`', changed, productEvent),
];
