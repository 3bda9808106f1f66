import { codedResource } from './coded-resource.ts';
import { type Operation, one } from './operation.ts';
import {
  day,
  demanded,
  filled,
  flag,
  id,
  integer,
  key,
  list,
  localMoment,
  moment,
  newId,
  optionPairs,
  type Params,
  type Schema,
  text,
} from './params.ts';

const score = integer('Rating.', { minimum: 1, maximum: 5 });

const option: Schema = {
  type: 'object',
  properties: {
    review_option_type_id: demanded(id('Type of the additional field.')),
    created_at: demanded(moment('When it was given.')),
    value: { type: ['string', 'number', 'boolean'], pattern: '\\S', description: 'Value.', 'x-expected': 'a value' },
    code: key('Unique among options.'),
  },
  required: ['review_option_type_id', 'created_at', 'value'],
  'x-expected': 'an object in each item',
};

const change: Params = {
  product_id: newId("The service's id of the product; may be omitted when product_code is given."),
  product_code: key("The shop's code of the product; may be omitted when product_id is given."),
  created_at: demanded(moment('Writing time, significant to the second.')),
  message: text('Review text without HTML tags.'),
  score,
  user_code: key("Author's shop account; mandatory for member reviews."),
  user_name: text('Author name.'),
  image_urls: list(
    'Attachment addresses, stored later.',
    { type: 'string', pattern: '^https?://\\S+$', 'x-expected': 'http addresses' },
    { maxItems: 4, expected: 'a list of at most 4 items' },
  ),
  display: flag('1 displayed, 0 not displayed; a new review is displayed by default.'),
  options: list('Additional information; not in shops of the v2 model.', option, {
    maxItems: 100,
    expected: 'a list of at most 100 items',
  }),
};
const product_options = optionPairs('Purchase options, <key>:<value> each.');

/** Reviews (docs/interface.md, "Reviews"). */
export const reviewOperations: Operation[] = [
  {
    id: 'getReviewOverview',
    method: 'GET',
    path: '/v1/reviews/overview',
    tag: 'Reviews',
    summary: 'The range of dates of all reviews',
    params: {},
    answers: { 200: one('ReviewOverview') },
  },
  ...codedResource({
    path: '/v1/reviews',
    tag: 'Reviews',
    noun: 'review',
    item: 'ReviewListItem',
    detail: 'Review',
    mostPages: 30,
    filters: {
      product_id: id('Only reviews of that product.'),
      product_code: text('Only reviews of that product, by the shop’s code.'),
      user_code: text('Only reviews by that shop account.'),
      category_id: id('Only reviews of products in that category.'),
      category_code: text('Only reviews of products in that category, by the shop’s code.'),
      score: integer('1 to 5 for that rating; 0 for reviews without rating.', { minimum: 0, maximum: 5 }),
      photo: flag('1 returns photo reviews only.'),
      date_updated_at: flag('1 makes dates those of the last update.'),
      date_order_desc: flag('1 returns newest first.'),
      start_date: day('From this day; default 30 days before.'),
      end_date: day('Up to this day; default the request day.'),
      start_datetime: localMoment('From this time; the period is at most 45 days.'),
      end_datetime: localMoment('Up to this time; with either time, the days are ignored.'),
      tag_name: text('Only reviews with that tag.'),
      third_party_name: text('Only reviews integrated by that external partner.'),
      sub_brand_id: id('Only reviews of that sub-brand.'),
      sub_brand_code: text('Only reviews of that sub-brand, by code.'),
    },
    creation: {
      code: filled('Shop-side identifier, unique among reviews.'),
      ...change,
      product_options,
      review_source_url: text('Social origin address of the review.'),
      tag_name: text('Tag of the review.'),
    },
    required: [],
    changeById: { ...change, product_options },
    changeByCode: { ...change, score: demanded(score) },
  }),
];
