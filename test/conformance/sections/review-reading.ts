import { ensure, isRow, type Row, rowOf, show, statusIs } from '../expect.ts';
import { type FieldTable, fieldStatements } from '../kinds.ts';
import { aReview, detailOf } from '../records.ts';
import type { Resource } from '../resource.ts';
import {
  anOption,
  hasItems,
  listedReview,
  newestReviews,
  optionsFormOf,
  pictured,
  readOverview,
  reviewWith,
} from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';

const path = '/v1/reviews';

const common: FieldTable = [
  ['id', 'integer', 'service identifier'],
  ['code', 'string or null', 'shop-side unique identifier'],
  ['display', 'boolean'],
  ['user_code', 'string'],
  ['user_name', 'string'],
  ['message', 'string'],
  ['score', 'integer, 1 to 5'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
  ['product_id', 'integer'],
  ['product_code', 'string'],
  ['review_type', 'string'],
  ['images_count', 'integer'],
  ['images', 'array of objects'],
  ['videos_count', 'integer'],
  ['video_urls', 'array of string, or absent', 'to be removed from responses'],
  ['videos', 'array of objects'],
  ['likes_count', 'integer'],
  ['plus_likes_count', 'integer'],
  ['source', 'string'],
  ['options', 'array of objects'],
  ['product_options', 'object, string to string, or absent'],
  ['order_code', 'string or null'],
  ['sub_order_code', 'string or null'],
  ['store_order', 'boolean'],
  ['store_name', 'string or null'],
  ['third_party_name', 'string, or absent'],
  ['sub_brand_id', 'integer, or absent'],
];

const inList: FieldTable = [...common, ['user_id', 'integer'], ['comments_count', 'integer']];
const alone: FieldTable = [...common, ['comments', 'array']];
const created: FieldTable = [...alone, ['tag_name', 'string']];

const image: FieldTable = ['', 'gallery_', 'portrait_', 'thumbnail_'].flatMap(
  (variant): FieldTable => [
    [`${variant}url`, 'string'],
    [`${variant}width`, 'integer'],
    [`${variant}height`, 'integer'],
  ],
);

const option: FieldTable = [
  ['id', 'integer'],
  ['review_id', 'integer'],
  ['review_option_type_id', 'integer'],
  ['value', 'string'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
];

const overviewFields: FieldTable = [
  ['first_review_created_at', 'datetime'],
  ['last_review_created_at', 'datetime'],
];

const detail = (session: Session) => detailOf(session, path, aReview);

async function imageOf(session: Session): Promise<Row> {
  const { images } = await session.shared(pictured);
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
  ...fieldStatements({ section: 'Resources, Image', of: 'an image', fields: image, sample: imageOf }),
  ...fieldStatements({ section: 'Resources, Review option', of: 'an option', fields: option, sample: anOption }),
];

const review = inSection('Resources, Review');
const options = inSection('Resources, Review option');

/** Something that is true of each of the newest reviews. */
function ofAll(is: (row: Row) => boolean, expected: string) {
  return async (session: Session) => {
    const own = session.settings.readOnly ? [] : [await session.shared(detail)];
    const rows = [...own, ...(await session.shared(newestReviews))];
    if (rows.length === 0) throw new CannotTell('the service holds no review in the last 30 days');
    const odd = rows.find((row) => !is(row));
    ensure(odd === undefined, `review ${odd?.id}: ${show(odd)}`, expected);
  };
}

const values: Statement[] = [
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
];

const optionForms: Statement[] = [
  ...(['option_type_name', 'value_text'] as const).map((field) =>
    options(`an option has ${field}: string, only in the v2 form`, async (session) => {
      const form = await optionsFormOf(session);
      const found = (await session.shared(anOption))[field];
      if (form === 'v2') ensure(typeof found === 'string', `${field} ${show(found)} in the v2 form`, 'string');
      else ensure(found === undefined, `${field} ${show(found)} in the default form`, 'no such field');
    }),
  ),
];

const overview = inSection('Resources, Review overview');

const overviews: Statement[] = [
  ...fieldStatements({
    section: 'Resources, Review overview',
    of: 'the overview',
    fields: overviewFields,
    sample: readOverview,
  }),
  overview('the overview bounds the dates of the reviews', async (session) => {
    const found = await session.shared(readOverview);
    const { created_at: at } = await session.shared(listedReview);
    const [first, last] = [
      Date.parse(String(found.first_review_created_at)),
      Date.parse(String(found.last_review_created_at)),
    ];
    const time = Date.parse(String(at));
    ensure(first <= time && time <= last, `${show(found)}, and a review of ${at}`, 'bounds around every review');
  }),
];

const single: Statement[] = [
  inSection('Endpoints, Reviews, Overview')(
    'GET /v1/reviews/overview answers 200 with the overview',
    async (session) => {
      const answer = await session.call('GET', '/v1/reviews/overview');
      statusIs(answer, 200);
      ensure('first_review_created_at' in rowOf(answer), answer.told, 'the overview');
    },
  ),
];

const replaced: Statement[] = [
  inSection('Versioning')('3: videos replaces video_urls: a review with video_urls has videos', async (session) => {
    const { id, videos } = await reviewWith(session, 'has video_urls', hasItems('video_urls'));
    ensure(Array.isArray(videos) && videos.length > 0, `review ${id} without videos`, 'videos beside video_urls');
  }),
];

export const reviewReading: readonly Statement[] = [
  ...tables,
  ...values,
  ...optionForms,
  ...replaced,
  ...overviews,
  ...single,
];
