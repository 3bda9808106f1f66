import { ensure, isRow, listOf, type Row, rowOf, show, statusIs } from '../expect.ts';
import { clockOf, codeOf, createdBy, detailOf, isoOf, noImage, post, records, reviewParams } from '../records.ts';
import type { Resource } from '../resource.ts';
import { once, type Params, type Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { type FieldTable, fieldStatements } from '../tables.ts';

const path = '/v1/reviews';

/** The newest reviews that the service holds, up to a hundred of the last 30 days. */
export const newestReviews = once(async (session) => {
  await records.reviews.answer(session);
  return listOf(await session.call('GET', path, { query: { limit: 100, date_order_desc: 1 } }));
});

/** This run's review as the list shows it. */
export async function listedReview(session: Session): Promise<Row> {
  const { id } = await records.reviews.one(session);
  const found = (await newestReviews(session)).find((row) => row.id === id);
  if (found) return found;
  throw new CannotTell('the review made is not among the 100 newest listed');
}

/** One of the newest reviews of which something is true. */
export async function reviewWith(session: Session, what: string, is: (review: Row) => boolean): Promise<Row> {
  const found = (await newestReviews(session)).find(is);
  if (found) return found;
  throw new CannotTell(`none of the 100 newest reviews of the last 30 days ${what}`);
}

export const hasItems = (field: string) => (review: Row) => Array.isArray(review[field]) && review[field].length > 0;

/** This run's review with a picture, once the service has stored it. */
export const pictured = once(async (session) => {
  const { id } = await withImages(session);
  return session.until(noImage, async () => {
    const { body } = await session.call('GET', `${path}/${id}`);
    return isRow(body) && hasItems('images')(body) ? body : undefined;
  });
});

export const withImages = once((session) =>
  records.reviews.fresh(session, 'with-image', { 'image_urls[]': [session.settings.imageUrl] }),
);

/** One item of additional information, as a form. */
export const itemOf = async (session: Session): Promise<Params> => ({
  'options[][review_option_type_id]': 1,
  'options[][created_at]': await isoOf(1, '12:00:00')(session),
  'options[][value]': 'Fits well',
});

/** The answer to a review with one item of additional information. */
export const optionsAnswer = once(async (session) =>
  post(session, 'reviews', 'with-options', { ...reviewParams(session), ...(await itemOf(session)) }),
);

/** Which form of the options the shop has, as its reviews show it. */
export async function optionsFormOf(session: Session): Promise<'default' | 'v2'> {
  return 'option_type_name' in (await anOption(session)) ? 'v2' : 'default';
}

/** An item of additional information that the service shows: of a listed review, or else of one of this run. */
export async function anOption(session: Session): Promise<Row> {
  const listed = (await newestReviews(session)).find(hasItems('options'));
  const review = listed ?? createdBy(session, await optionsAnswer(session));
  const [item] = Array.isArray(review.options) ? review.options : [];
  if (isRow(item)) return item;
  throw new CannotTell('needs a review of the last 30 days with additional information');
}

/** A review of this run, written at a time of its own; each is made once. */
export const reviewAt = (name: string, days: number, time: string) =>
  once(async (session) => {
    const at = (await clockOf(session)).daysAgo(days, time);
    const params = { ...reviewParams(session), user_code: codeOf(session, 'dated'), created_at: at.iso };
    const made = createdBy(session, await post(session, 'reviews', name, params));
    // Clocks that went forward or back in between would move it.
    if (String(made.created_at).slice(0, 19) === at.iso.slice(0, 19)) return { ...made, at };
    throw new CannotTell(`a review written at ${at.iso} is shown at ${made.created_at}`);
  });

/** The overview of a service that holds a review. */
const readOverview = once(async (session) => {
  await records.reviews.answer(session);
  return rowOf(await session.call('GET', '/v1/reviews/overview'));
});

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

const inList: FieldTable = [...common, ['integer', 'user_id comments_count']];
const alone: FieldTable = [...common, ['array', 'comments']];
const created: FieldTable = [...alone, ['string', 'tag_name']];

const image: FieldTable = [
  ['string', 'url gallery_url portrait_url thumbnail_url'],
  [
    'integer',
    'width height gallery_width gallery_height portrait_width portrait_height thumbnail_width thumbnail_height',
  ],
];

const option: FieldTable = [
  ['integer', 'id review_id review_option_type_id'],
  ['string', 'value'],
  ['datetime', 'created_at updated_at'],
];

const overviewFields: FieldTable = [['datetime', 'first_review_created_at last_review_created_at']];

const detail = (session: Session) => detailOf(session, path, records.reviews.one);

async function imageOf(session: Session): Promise<Row> {
  const { images } = await pictured(session);
  const [first] = Array.isArray(images) ? images : [];
  ensure(isRow(first), show(images), 'an image');
  return first;
}

/** The tables of a review; the list and the answer to its creation show more fields than the review alone. */
export const reviewTables: Resource['tables'] = {
  section: 'Resources, Review',
  alone,
  created,
  listed: { section: 'Resources, Review', fields: inList },
  listedSample: listedReview,
};

const tables = [
  ...fieldStatements('Resources, Image', 'an image', image, imageOf),
  ...fieldStatements('Resources, Review option', 'an option', option, anOption),
];

const review = inSection('Resources, Review');
const options = inSection('Resources, Review option');

/** Something that is true of each of the newest reviews. */
function ofAll(is: (row: Row) => boolean, expected: string) {
  return async (session: Session) => {
    const rows = [await detail(session), ...(await newestReviews(session))];
    const odd = rows.find((row) => !is(row));
    ensure(odd === undefined, `review ${odd?.id}: ${show(odd)}`, expected);
  };
}

const overview = inSection('Resources, Review overview');

export const reviewReading: readonly Statement[] = [
  ...tables,
  review(
    'message is plain text without HTML tags',
    ofAll((row) => !/<\/?[a-z][^>]*>/i.test(String(row.message)), 'a message without tags'),
  ),
  review(
    'images_count is the number of images',
    ofAll(
      (row) => !Array.isArray(row.images) || row.images_count === row.images.length,
      'as many images as images_count',
    ),
  ),
  review(
    'likes_count counts helpful and not-helpful votes, plus_likes_count the helpful ones only',
    ofAll((row) => Number(row.likes_count) >= Number(row.plus_likes_count), 'likes_count not below plus_likes_count'),
  ),
  review(
    'third_party_name is absent when there is none',
    ofAll(
      (row) =>
        !('third_party_name' in row) || (typeof row.third_party_name === 'string' && row.third_party_name !== ''),
      'a name, or no such field',
    ),
  ),
  review('video_urls: links to short videos', async (session) => {
    const { video_urls: urls } = await reviewWith(session, 'has video_urls', hasItems('video_urls'));
    ensure(Array.isArray(urls) && urls.every((url) => URL.canParse(String(url))), show(urls), 'addresses');
  }),
  review('videos: links by quality, keys hd_url and sd_url', async (session) => {
    const { videos } = await reviewWith(session, 'has a video', hasItems('videos'));
    const isVideo = (video: unknown) =>
      isRow(video) && [video.hd_url, video.sd_url].some((url) => typeof url === 'string' && URL.canParse(url));
    ensure(Array.isArray(videos) && videos.every(isVideo), show(videos), 'objects with hd_url or sd_url');
  }),
  ...(['option_type_name', 'value_text'] as const).map((field) =>
    options(`an option has ${field}: string, only in the v2 form`, async (session) => {
      const form = await optionsFormOf(session);
      const found = (await anOption(session))[field];
      if (form === 'v2') ensure(typeof found === 'string', `${field} ${show(found)} in the v2 form`, 'string');
      else ensure(found === undefined, `${field} ${show(found)} in the default form`, 'no such field');
    }),
  ),
  inSection('Versioning')('3: videos replaces video_urls: a review with video_urls has videos', async (session) => {
    const { id, videos } = await reviewWith(session, 'has video_urls', hasItems('video_urls'));
    ensure(Array.isArray(videos) && videos.length > 0, `review ${id} without videos`, 'videos beside video_urls');
  }),
  ...fieldStatements('Resources, Review overview', 'the overview', overviewFields, readOverview),
  overview('the overview bounds the dates of the reviews', async (session) => {
    const found = await readOverview(session);
    const { created_at: at } = await listedReview(session);
    const [first, last] = [
      Date.parse(String(found.first_review_created_at)),
      Date.parse(String(found.last_review_created_at)),
    ];
    const time = Date.parse(String(at));
    ensure(first <= time && time <= last, `${show(found)}, and a review of ${at}`, 'bounds around every review');
  }),
  inSection('Endpoints, Reviews, Overview')(
    'GET /v1/reviews/overview answers 200 with the overview',
    async (session) => {
      const answer = await session.call('GET', '/v1/reviews/overview');
      statusIs(answer, 200);
      ensure('first_review_created_at' in rowOf(answer), answer.told, 'the overview');
    },
  ),
];
