import { ensure, isRow, isSame, isSuccess, rowOf, show, succeeds } from '../expect.ts';
import {
  codeOf,
  createdBy,
  isoOf,
  noImage,
  post,
  productCodeOf,
  productIdOf,
  records,
  reviewParams,
} from '../records.ts';
import { type Resource, read, resourceStatements, type Way } from '../resource.ts';
import type { Params, Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { isPairs, type Parameter, sameSecond } from '../tables.ts';
import {
  hasItems,
  itemOf,
  optionsAnswer,
  optionsFormOf,
  pictured,
  reviewTables,
  withImages,
} from './review-reading.ts';

/** What all writes of a review take, but for lists. */
const reviewParameters: readonly Parameter[] = [
  { name: 'product_id', value: productIdOf, shownAs: 'product_id' },
  { name: 'product_code', value: async (session) => productCodeOf(session), shownAs: 'product_code' },
  { name: 'created_at', value: isoOf(2, '01:02:03'), shownAs: 'created_at', as: sameSecond },
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

const tagName: Parameter = { name: 'tag_name', value: async (session) => codeOf(session, 'tag'), shownAs: 'tag_name' };

function ofUpdates({ says, what, record, patch }: Way): Statement[] {
  return [
    says(`${what}: image_urls are shown as images once they are stored`, async (session) => {
      const { id } = await record(session);
      succeeds(await patch(session, { 'image_urls[]': [session.settings.imageUrl] }));
      await session.until(noImage, async () =>
        hasItems('images')(await read(session, 'reviews', id)) ? true : undefined,
      );
    }),
    says(`${what}: options, same item rules as create`, async (session) => {
      await needsDefaultForm(session);
      const { id } = await record(session);
      const answer = await patch(session, await itemOf(session));
      if (answer.status === 422) throw new CannotTell(`needs additional information of type 1: ${answer.told}`);
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
    const { id } = await records.reviews.fresh(session, 'unrated-later');
    succeeds(await session.call('PATCH', `/v1/reviews/${id}`, { form: { score: '' } }));
    const { score } = await read(session, 'reviews', id);
    ensure(score === null || score === undefined, `score ${show(score)}`, 'none');
  }),
];

/** @throws CannotTell where `options` cannot be written. */
export async function needsDefaultForm(session: Session): Promise<void> {
  if ((await optionsFormOf(session)) === 'v2')
    throw new CannotTell('the shop uses the v2 form, which takes no options');
}

const says = inSection('Endpoints, Reviews, Create or update a review');

async function write(session: Session, name: string, without: readonly string[], more: Params = {}) {
  const params = Object.entries({ ...reviewParams(session), ...more }).filter(([key]) => !without.includes(key));
  return post(session, 'reviews', name, Object.fromEntries(params));
}

export const reviewWriting: readonly Statement[] = [
  inSection('States and transitions, Review display')(
    'create without display makes a review displayed',
    async (session) => isSame('display', rowOf(await records.reviews.answer(session)).display, true),
  ),
  says('product_code may be omitted when product_id is given', async (session) => {
    const product_id = await productIdOf(session);
    const answer = await write(session, 'by-product-id', ['product_code'], { product_id });
    isSame('product_id', rowOf(answer).product_id, product_id);
  }),
  says('score omitted means a review with no rating', async (session) => {
    const { score } = rowOf(await write(session, 'without-score', ['score']));
    ensure(score === null || score === undefined, `score ${show(score)}`, 'none');
  }),
  says('score is 1 to 5: 6 is not kept', async (session) => {
    const answer = await write(session, 'with-score-6', [], { score: 6 });
    const kept = isSuccess(answer) && isRow(answer.body) ? answer.body.score : undefined;
    ensure(kept !== 6, `score ${show(kept)}`, 'a refusal, or 1 to 5');
  }),
  says('user_code may be omitted for non-member reviews', async (session) =>
    succeeds(await write(session, 'of-a-non-member', ['user_code'])),
  ),
  says('review_source_url is taken', async (session) => {
    const answer = await write(session, 'from-elsewhere', [], {
      review_source_url: 'https://www.youtube.com/shorts/conf',
    });
    if (!isSuccess(answer)) throw new CannotTell(`which platforms are taken is not shown by name: ${answer.told}`);
  }),
  says('image_urls are stored asynchronously, so not reflected at once in the response', async (session) => {
    const made = await withImages(session);
    ensure(!hasItems('images')(made), `images ${show(made.images)} at once`, 'none yet');
  }),
  says('image_urls are shown as images once they are stored', async (session) => {
    const { images: found, images_count: count } = await pictured(session);
    ensure(Array.isArray(found) && count === found.length, `images_count ${show(count)}`, 'the number of images');
  }),
  says('options: form encoding is options[][<field>]', async (session) => {
    await needsDefaultForm(session);
    const { options } = createdBy(session, await optionsAnswer(session));
    const [item] = Array.isArray(options) ? options : [];
    isSame('value of the item', isRow(item) ? item.value : undefined, 'Fits well');
  }),
  says('options: not usable in shops using the v2 additional-information model', async (session) => {
    if ((await optionsFormOf(session)) !== 'v2') throw new CannotTell('the shop uses the default form');
    const answer = await optionsAnswer(session);
    const kept = isSuccess(answer) && isRow(answer.body) && hasItems('options')(answer.body);
    ensure(!kept, answer.told, 'a refusal, or no item kept');
    const { id } = await records.reviews.one(session);
    const before = (await read(session, 'reviews', id)).options;
    await session.call('PATCH', `/v1/reviews/${id}`, { form: await itemOf(session) });
    isSame('options after an update with options', (await read(session, 'reviews', id)).options, before);
  }),
];
