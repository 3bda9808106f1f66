import * as records from '../records.ts';
import { type Resource, resourceStatements, shapesOf, type Way } from '../resource.ts';
import type { Params } from '../session.ts';
import * as is from '../statement.ts';
import * as tables from '../tables.ts';

type Context = records.Context;
type FieldTable = tables.FieldTable;
const path = '/v1/reviews';
const says = is.inSection('Endpoints, Reviews');

/** The newest reviews that the service holds, up to a hundred of the last 30 days. */
async function newestReviews({ answer, list }: Context): Promise<is.Row[]> {
  await answer('reviews');
  return list(path, { limit: 100, date_order_desc: 1 });
}

/** This run's review as the list shows it. */
async function listedReview({ one, shared }: Context): Promise<is.Row> {
  const { id } = await one('reviews');
  const found = (await shared(newestReviews)).find((row) => row.id === id);
  return is.needed(found, 'the review made is not among the 100 newest listed');
}

const hasItems = (field: string) => (review: is.Row) => Array.isArray(review[field]) && review[field].length > 0;

/** One of the newest reviews that has items in the field. */
async function reviewWith({ shared }: Context, field: string, what = field): Promise<is.Row> {
  const found = (await shared(newestReviews)).find(hasItems(field));
  return is.needed(found, `none of the 100 newest reviews of the last 30 days has ${what}`);
}

const withImages = ({ fresh, settings }: Context) =>
  fresh('reviews', 'with-image', { 'image_urls[]': [settings.imageUrl] });
/** This run's review with a picture, once the service has stored it. */
export async function pictured({ get, shared, until }: Context): Promise<is.Row> {
  const { id } = await shared(withImages);
  return until(records.noImage, async () => {
    const { body } = await get(`${path}/${id}`);
    return is.isRow(body) && hasItems('images')(body) ? body : undefined;
  });
}

/** One item of additional information, as a form. */
const itemOf = async (context: Context): Promise<Params> => ({
  'options[][review_option_type_id]': 1,
  'options[][created_at]': await records.isoOf(1, '12:00:00')(context),
  'options[][value]': 'Fits well',
});
/** The answer to a review with one item of additional information. */
const optionsAnswer = async (context: Context) => context.make('reviews', 'with-options', await itemOf(context));

/** An item of additional information that the service shows: from a listed review, or else from one of this run. */
async function anOption(context: Context): Promise<is.Row> {
  const { shared } = context;
  const listed = (await shared(newestReviews)).find(hasItems('options'));
  const review = listed ?? records.createdBy(context, await shared(optionsAnswer));
  return is.needed(is.rowsIn(review.options)[0], 'needs a review of the last 30 days with additional information');
}

/** Which form of the options the shop has, as its reviews show it. */
const isV2 = async (context: Context) => 'option_type_name' in (await anOption(context));

/** @throws CannotTell if `options` cannot be written. */
async function needsDefaultForm(context: Context): Promise<void> {
  if (await isV2(context)) throw new is.CannotTell('the shop uses the v2 form, which takes no options');
}

/** The overview of a service that holds a review. */
async function readOverview({ answer, get }: Context): Promise<is.Row> {
  await answer('reviews');
  return is.rowOf(await get('/v1/reviews/overview'));
}

const common: FieldTable = [
  ['integer', 'id product_id images_count videos_count likes_count plus_likes_count'],
  ['string or null', 'code order_code sub_order_code store_name'],
  ['boolean', 'display store_order'],
  ['string', 'user_code user_name message product_code review_type source'],
  ['integer, 1 to 5', 'score'],
  ['datetime', 'created_at updated_at'],
  ['array of objects', 'images videos options'],
  ['array of string, or absent', 'video_urls'],
  ['object, string to string, or absent', 'product_options'],
  ['string, or absent', 'third_party_name'],
  ['integer, or absent', 'sub_brand_id'],
];
const alone: FieldTable = [...common, ['array', 'comments']];
const variants = ['', 'gallery_', 'portrait_', 'thumbnail_'];
const image: FieldTable = [
  ['string', variants.map((one) => `${one}url`).join(' ')],
  ['integer', variants.map((one) => `${one}width ${one}height`).join(' ')],
];
const option: FieldTable = [
  ['integer', 'id review_id review_option_type_id'],
  ['string', 'value'],
  ['datetime', 'created_at updated_at'],
];
const overviewFields: FieldTable = [['datetime', 'first_review_created_at last_review_created_at']];

async function imageOf({ shared }: Context): Promise<is.Row> {
  const { images } = await shared(pictured);
  const [first] = is.rowsIn(images);
  is.ensure(first !== undefined, is.show(images), 'an image');
  return first;
}

/** The parameters that all writes of a review take, except lists. */
const reviewParameters: readonly tables.Parameter[] = [
  { name: 'product_id', value: records.productIdOf, shownAs: 'product_id' },
  { name: 'product_code', value: records.productCodeOf, shownAs: 'product_code' },
  { name: 'created_at', value: records.isoOf(2, '01:02:03'), shownAs: 'created_at', as: tables.sameSecond },
  { name: 'message', value: 'Another conformance test.', shownAs: 'message' },
  ...[1, 2, 3, 4, 5].map((score) => ({ name: 'score', value: score, shownAs: 'score', note: String(score) })),
  { name: 'user_code', value: ({ code }) => code('lee'), shownAs: 'user_code' },
  { name: 'user_name', value: 'Lee', shownAs: 'user_name' },
  { name: 'display', value: 0, shownAs: 'display', as: (found) => found === false, note: '0 not displayed' },
  { name: 'display', value: 1, shownAs: 'display', as: (found) => found === true, note: '1 displayed' },
];

const productOptions: tables.Parameter = {
  name: 'product_options[]',
  value: ['Size:M', 'Colour:blue'],
  shownAs: 'product_options',
  as: tables.isPairs,
  note: 'each `<key>:<value>`',
  absentWhere: 'the shop’s settings leave product_options out',
};
const tagName: tables.Parameter = { name: 'tag_name', value: ({ code }) => code('tag'), shownAs: 'tag_name' };

const ofUpdates = ({ what, record, patch }: Way): is.Statement[] => [
  says(`${what}: image_urls are shown as images once they are stored`, async (context) => {
    const { read, settings, until } = context;
    const { id } = await record(context);
    is.succeeds(await patch(context, { 'image_urls[]': [settings.imageUrl] }));
    await until(records.noImage, async () => hasItems('images')(await read('reviews', id)) || undefined);
  }),
  says(`${what}: options, same item rules as create`, async (context) => {
    await needsDefaultForm(context);
    const { id } = await record(context);
    const answer = await patch(context, await itemOf(context));
    if (answer.status === 422) throw new is.CannotTell(`needs additional information of type 1: ${answer.summary}`);
    is.succeeds(answer);
    is.ensure(hasItems('options')(await context.read('reviews', id)), 'no item', 'the item that was sent');
  }),
];

export const review: Resource = {
  kind: 'reviews',
  section: 'Endpoints, Reviews',
  called: 'a review',
  // The list and the answer to the creation of a review show more fields than the review alone.
  fields: {
    section: 'Resources, Review',
    alone,
    created: [...alone, ['string', 'tag_name']],
    listed: ['Resources, Review', [...common, ['integer', 'user_id comments_count']]],
  },
  listed: listedReview,
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

const ofReviews = is.inSection('Resources, Review');
/** Something that is true of each of the newest reviews. */
const ofAll = (sentence: string, holds: (row: is.Row) => boolean, expected: string) =>
  ofReviews(sentence, async (context) => {
    const rows = [await records.detailOf('reviews')(context), ...(await context.shared(newestReviews))];
    const odd = rows.find((row) => !holds(row));
    is.ensure(odd === undefined, `review ${odd?.id}: ${is.show(odd)}`, expected);
  });

export const reviewReading: readonly is.Statement[] = [
  ...shapesOf(review),
  ...tables.fieldStatements('Resources, Image', 'an image', image, imageOf),
  ...tables.fieldStatements('Resources, Review option', 'an option', option, anOption),
  ofAll(
    'message is plain text without HTML tags',
    (row) => !/<\/?[a-z][^>]*>/i.test(String(row.message)),
    'a message without tags',
  ),
  ofAll(
    'images_count is the number of images',
    (row) => !Array.isArray(row.images) || row.images_count === row.images.length,
    'as many images as images_count',
  ),
  ofAll(
    'likes_count counts helpful and not-helpful votes, plus_likes_count the helpful ones only',
    (row) => Number(row.likes_count) >= Number(row.plus_likes_count),
    'likes_count not below plus_likes_count',
  ),
  ofAll(
    'third_party_name is absent when there is none',
    ({ third_party_name: name = 'none' }) => typeof name === 'string' && name !== '',
    'a name, or no such field',
  ),
  ofReviews('video_urls: links to short videos', async (context) => {
    const { video_urls: urls } = await reviewWith(context, 'video_urls');
    is.ensure(Array.isArray(urls) && urls.every((url) => URL.canParse(String(url))), is.show(urls), 'addresses');
  }),
  ofReviews('videos: links by quality, keys hd_url and sd_url', async (context) => {
    const { videos } = await reviewWith(context, 'videos', 'a video');
    const isVideo = (video: unknown) =>
      is.isRow(video) && [video.hd_url, video.sd_url].some((url) => typeof url === 'string' && URL.canParse(url));
    is.ensure(Array.isArray(videos) && videos.every(isVideo), is.show(videos), 'objects with hd_url or sd_url');
  }),
  ...['option_type_name', 'value_text'].map((field) =>
    is.inSection('Resources, Review option')(`an option has ${field}: string, only in the v2 form`, async (context) => {
      const isString = await isV2(context);
      const found = (await anOption(context))[field];
      if (isString) is.ensure(typeof found === 'string', `${field} ${is.show(found)} in the v2 form`, 'string');
      else is.ensure(found === undefined, `${field} ${is.show(found)} in the default form`, 'no such field');
    }),
  ),
  is.inSection('Versioning')('3: videos replaces video_urls: a review with video_urls has videos', async (context) => {
    const one = await reviewWith(context, 'video_urls');
    is.ensure(hasItems('videos')(one), `review ${one.id} without videos`, 'videos beside video_urls');
  }),
  ...tables.fieldStatements('Resources, Review overview', 'the overview', overviewFields, readOverview),
  is.inSection('Resources, Review overview')('the overview bounds the dates of the reviews', async (context) => {
    const found = await context.shared(readOverview);
    const { created_at: at } = await listedReview(context);
    const [first = 0, time = 0, last = 0] = [found.first_review_created_at, at, found.last_review_created_at].map(
      (one) => Date.parse(String(one)),
    );
    const isBound = first <= time && time <= last;
    is.ensure(isBound, `${is.show(found)}, and a review of ${at}`, 'bounds around every review');
  }),
  says('GET /v1/reviews/overview answers 200 with the overview', async ({ get }) => {
    const answer = await get('/v1/reviews/overview');
    is.statusIs(answer, 200);
    is.ensure('first_review_created_at' in is.rowOf(answer), answer.summary, 'the overview');
  }),
];

export const reviewWriting: readonly is.Statement[] = [
  is.inSection('States and transitions, Review display')(
    'create without display makes a review displayed',
    async ({ answer }) => is.isSame('display', is.rowOf(await answer('reviews')).display, true),
  ),
  says('product_code may be omitted when product_id is given', async (context) => {
    const product_id = await records.productIdOf(context);
    const answer = await context.make('reviews', 'by-product-id', { product_id }, 'product_code');
    is.isSame('product_id', is.rowOf(answer).product_id, product_id);
  }),
  says('score omitted means a review with no rating', async ({ make }) =>
    is.isUnrated(is.rowOf(await make('reviews', 'without-score', {}, 'score'))),
  ),
  says('score is 1 to 5: 6 is not kept', async ({ make }) => {
    const answer = await make('reviews', 'with-score-6', { score: 6 });
    const kept = is.isSuccess(answer) && is.isRow(answer.body) ? answer.body.score : undefined;
    is.ensure(kept !== 6, `score ${is.show(kept)}`, 'a refusal, or 1 to 5');
  }),
  says('user_code may be omitted for non-member reviews', async ({ make }) =>
    is.succeeds(await make('reviews', 'of-a-non-member', {}, 'user_code')),
  ),
  says('review_source_url is taken', async ({ make }) => {
    const url = { review_source_url: 'https://www.youtube.com/shorts/conf' };
    const answer = await make('reviews', 'from-elsewhere', url);
    if (!is.isSuccess(answer))
      throw new is.CannotTell(`which platforms are taken is not shown by name: ${answer.summary}`);
  }),
  says('image_urls are stored asynchronously, so not reflected at once in the response', async ({ shared }) => {
    const made = await shared(withImages);
    is.ensure(!hasItems('images')(made), `images ${is.show(made.images)} at once`, 'none yet');
  }),
  says('image_urls are shown as images once they are stored', async ({ shared }) => {
    const { images: found, images_count: count } = await shared(pictured);
    const isCount = Array.isArray(found) && count === found.length;
    is.ensure(isCount, `images_count ${is.show(count)}`, 'the number of images');
  }),
  says('options: form encoding is options[][<field>]', async (context) => {
    await needsDefaultForm(context);
    const { options } = records.createdBy(context, await context.shared(optionsAnswer));
    is.isSame('value of the item', is.rowsIn(options)[0]?.value, 'Fits well');
  }),
  says('options: not usable in shops using the v2 additional-information model', async (context) => {
    const { call, one, read, shared } = context;
    if (!(await isV2(context))) throw new is.CannotTell('the shop uses the default form');
    const answer = await shared(optionsAnswer);
    const kept = is.isSuccess(answer) && is.isRow(answer.body) && hasItems('options')(answer.body);
    is.ensure(!kept, answer.summary, 'a refusal, or no item kept');
    const { id } = await one('reviews');
    const before = (await read('reviews', id)).options;
    await call('PATCH', `/v1/reviews/${id}`, { form: await itemOf(context) });
    is.isSame('options after an update with options', (await read('reviews', id)).options, before);
  }),
  ...resourceStatements(review),
  says('an empty score updates the review to no rating', async ({ call, fresh, read }) => {
    const { id } = await fresh('reviews', 'unrated-later');
    is.succeeds(await call('PATCH', `${path}/${id}`, { form: { score: '' } }));
    is.isUnrated(await read('reviews', id));
  }),
];
