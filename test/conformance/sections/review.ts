import { clockOf } from '../clock.ts';
import { ensure, show, succeeds } from '../expect.ts';
import { isPairs, type Parameter, sameSecond } from '../parameters.ts';
import { codeOf } from '../post.ts';
import { aReview, freshReview, productCodeOf, productIdOf, reviewAnswer, reviewParams } from '../records.ts';
import { type Resource, read, resourceStatements, type Way } from '../resource.ts';
import { hasItems } from '../review-samples.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { itemOf, needsDefaultForm } from './review-items.ts';
import { reviewTables } from './review-reading.ts';

/** What all writes of a review take, but for lists. */
const reviewParameters: readonly Parameter[] = [
  { name: 'product_id', value: productIdOf, shownAs: 'product_id' },
  { name: 'product_code', value: async (session) => productCodeOf(session), shownAs: 'product_code' },
  {
    name: 'created_at',
    value: async (session) => (await clockOf(session)).daysAgo(2, '01:02:03').iso,
    shownAs: 'created_at',
    as: sameSecond,
  },
  { name: 'message', value: 'Another conformance test.', shownAs: 'message' },
  ...[1, 2, 3, 4, 5].map((score) => ({ name: 'score', value: score, shownAs: 'score', note: String(score) })),
  { name: 'user_code', value: async (session) => codeOf(session, 'lee'), shownAs: 'user_code' },
  { name: 'user_name', value: 'Lee', shownAs: 'user_name' },
  { name: 'display', value: 0, shownAs: 'display', as: (found) => found === false, note: '0 not displayed' },
  { name: 'display', value: 1, shownAs: 'display', as: (found) => found === true, note: '1 displayed' },
];

export const noProductOptions = 'the shop’s settings leave product_options out';

const productOptions: Parameter = {
  name: 'product_options[]',
  value: ['Size:M', 'Colour:blue'],
  shownAs: 'product_options',
  as: isPairs,
  note: 'each `<key>:<value>`',
  absentWhere: noProductOptions,
};

const tagName: Parameter = {
  name: 'tag_name',
  value: async (session) => codeOf(session, 'tag'),
  shownAs: 'tag_name',
};

function ofUpdates({ says, what, record, patch }: Way): Statement[] {
  return [
    says(`${what}: image_urls are shown as images once they are stored`, async (session) => {
      const { id } = await session.shared(record);
      succeeds(await patch(session, { 'image_urls[]': [session.settings.imageUrl] }));
      await session.until('the service stored no image: give one that it can load by --image-url', async () =>
        hasItems('images')(await read(session, 'reviews', id)) ? true : undefined,
      );
    }),
    says(`${what}: options, same item rules as create`, async (session) => {
      await needsDefaultForm(session);
      const { id } = await session.shared(record);
      const answer = await patch(session, await itemOf(session));
      if (answer.status === 422)
        throw new CannotTell(`needs a type that the shop has, by --option-type: ${answer.told}`);
      succeeds(answer);
      ensure(hasItems('options')(await read(session, 'reviews', id)), 'no item', 'the item that was sent');
    }),
  ];
}

export const review: Resource = {
  kind: 'reviews',
  noun: 'review',
  called: 'a review',
  under: 'Endpoints, Reviews',
  headings: {
    list: 'List reviews',
    get: 'Get a review',
    getByCode: 'Get a review',
    create: 'Create or update a review',
    update: 'Update by id',
    updateByCode: 'Update by code',
    delete: 'Delete',
  },
  tables: reviewTables,
  answer: reviewAnswer,
  one: aReview,
  fresh: freshReview,
  required: async (session) => reviewParams(session),
  refusedWithout: [],
  parameters: {
    create: [...reviewParameters, productOptions, tagName],
    update: [...reviewParameters, productOptions],
    updateByCode: reviewParameters,
  },
  ofUpdates,
  text: { sent: 'message', shownAs: 'message' },
  deletesWith204: true,
};

export const reviewAlike: readonly Statement[] = [
  ...resourceStatements(review),
  inSection('Endpoints, Reviews, Update by id')('an empty score updates the review to no rating', async (session) => {
    const { id } = await freshReview(session, 'unrated-later');
    succeeds(await session.call('PATCH', `/v1/reviews/${id}`, { form: { score: '' } }));
    const { score } = await read(session, 'reviews', id);
    ensure(score === null || score === undefined, `score ${show(score)}`, 'none');
  }),
];
