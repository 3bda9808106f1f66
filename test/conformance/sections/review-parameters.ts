import { clockOf } from '../clock.ts';
import { isPairs, type Parameter, sameSecond } from '../parameters.ts';
import { codeOf } from '../post.ts';
import { productCodeOf, productIdOf } from '../records.ts';

/** What all writes of a review take, but for lists. */
export const reviewParameters: readonly Parameter[] = [
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

export const productOptions: Parameter = {
  name: 'product_options[]',
  value: ['Size:M', 'Colour:blue'],
  shownAs: 'product_options',
  as: isPairs,
  note: 'each `<key>:<value>`',
  absentWhere: noProductOptions,
};

export const tagName: Parameter = {
  name: 'tag_name',
  value: async (session) => codeOf(session, 'tag'),
  shownAs: 'tag_name',
};
