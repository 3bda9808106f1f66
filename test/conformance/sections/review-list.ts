import { ensure, idsOf, isRefusal, isSame, listOf, type Row, show } from '../expect.ts';
import type { Params } from '../http.ts';
import { pageOf } from '../link.ts';
import { manyReviews, manyUser } from '../many.ts';
import { codeOf, createdBy, post, userOf } from '../post.ts';
import {
  aCategory,
  aReview,
  freshReview,
  holds,
  listed,
  productCodeOf,
  productIdOf,
  reviewParams,
} from '../records.ts';
import { pictured } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';

const path = '/v1/reviews';
const says = inSection('Endpoints, Reviews, List reviews');

/** The list under these parameters has the one review, where one is given, and lacks the other. */
async function tells(session: Session, query: Params, has?: Row, lacks?: Row): Promise<void> {
  const ids = idsOf(await listed(session, path, { limit: 100, ...query }));
  if (has) ensure(ids.includes(has.id), `${show(query)} without review ${has.id}`, 'that review');
  ensure(!ids.includes(lacks?.id ?? ''), `${show(query)} with review ${lacks?.id}`, 'that it is left out');
}

/** Another account, product, tag and score than this run's other reviews. */
const stranger = (session: Session) =>
  freshReview(session, 'stranger', {
    ...(session.settings.productCode ? {} : { product_code: codeOf(session, 'product-2') }),
    user_code: codeOf(session, 'stranger'),
    tag_name: codeOf(session, 'tag-2'),
    score: 2,
  });

/** A review of another product than `stranger`'s: by one account, so that the list is short. */
async function productFilter(session: Session, name: string, value: string | number): Promise<void> {
  if (session.settings.productCode) throw new CannotTell('needs two products; run without --product-code');
  const [own, other] = [await session.shared(aReview), await session.shared(stranger)];
  await tells(session, { [name]: value }, own, other);
}

const unrated = async (session: Session) => {
  const { score: _, ...params } = reviewParams(session);
  const review = createdBy(session, await post(session, 'reviews', 'unrated', params));
  if (review.score === null || review.score === undefined) return review;
  throw new CannotTell(`needs a review without rating; it has score ${show(review.score)}`);
};

type Wanted = string | number | ((session: Session) => Promise<string | number>);

/** A filter whose value fits none of this run's reviews: then none of them may be listed. */
const none = (name: string, value: Wanted) => async (session: Session) => {
  const review = await session.shared(aReview);
  const ours = { user_code: userOf(session) };
  if (!(await holds(session, path, ours, review))) throw new CannotTell('the review made is not in the list');
  const wanted = typeof value === 'function' ? await value(session) : value;
  const answer = await session.call('GET', path, { query: { ...ours, [name]: wanted, limit: 100 } });
  if (isRefusal(answer)) throw new CannotTell(`the service refuses a value that it does not know: ${answer.told}`);
  ensure(
    !idsOf(listOf(answer)).includes(review.id),
    `with ${name} ${wanted}, review ${review.id} of none`,
    'that it is left out',
  );
};

const filters: Statement[] = [
  says('product_id: only reviews of that product', async (session) =>
    productFilter(session, 'product_id', await productIdOf(session)),
  ),
  says('product_code: only reviews of that product', async (session) =>
    productFilter(session, 'product_code', productCodeOf(session)),
  ),
  says('user_code: only reviews by that shop account', async (session) =>
    tells(session, { user_code: userOf(session) }, await session.shared(aReview), await session.shared(stranger)),
  ),
  says(
    'category_id: only reviews of products in that category',
    none('category_id', async (session) => (await session.shared(aCategory)).id),
  ),
  says(
    'category_code: only reviews of products in that category',
    none('category_code', async (session) => String((await session.shared(aCategory)).code)),
  ),
  says('score 1 to 5: only reviews of that rating', async (session) => {
    // By account too: among a busy shop's reviews ours would not be on the first page.
    const [four, two] = [await session.shared(aReview), await session.shared(stranger)];
    const [ours, theirs] = [{ user_code: userOf(session) }, { user_code: codeOf(session, 'stranger') }];
    await tells(session, { ...ours, score: 4 }, four);
    await tells(session, { ...theirs, score: 4 }, undefined, two);
    await tells(session, { ...theirs, score: 2 }, two);
    await tells(session, { ...ours, score: 2 }, undefined, four);
  }),
  says('score 0: only reviews without rating', async (session) =>
    tells(
      session,
      { user_code: userOf(session), score: 0 },
      await session.shared(unrated),
      await session.shared(aReview),
    ),
  ),
  says('photo 1: photo reviews only', async (session) => {
    const [withPhoto, without] = [await session.shared(pictured), await session.shared(aReview)];
    const theirs = typeof withPhoto.user_code === 'string' ? { user_code: withPhoto.user_code } : {};
    await tells(session, { ...theirs, photo: 1 }, withPhoto, without);
  }),
  says('tag_name: only reviews with that tag', async (session) =>
    tells(session, { tag_name: codeOf(session, 'tag') }, await session.shared(aReview), await session.shared(stranger)),
  ),
  says('third_party_name: only reviews integrated by that partner', none('third_party_name', 'conformance-none')),
  says('sub_brand_id: only reviews of that sub-brand', none('sub_brand_id', 2_147_483_647)),
  says('sub_brand_code: only reviews of that sub-brand', none('sub_brand_code', 'conformance-none')),
];

const pages: Statement[] = [
  says('page: the page of that number', async (session) => {
    const many = await session.shared(manyReviews);
    const query = { user_code: manyUser(session), limit: 1, page: 2 };
    const [id] = idsOf(await listed(session, path, query));
    isSame('the review on page 2', id, many[1]?.id);
  }),
  says('rule 4: records beyond page 30 are reached by narrowing the period', async (session) => {
    const beyond = (await session.shared(manyReviews)).at(-1);
    if (!beyond) throw new CannotTell('needs a 31st review');
    const start_datetime = beyond.at.datetime;
    const query = { user_code: manyUser(session), limit: 1, start_datetime, end_datetime: `${beyond.at.day} 23:59:59` };
    isSame('the review on page 1 of the narrower period', idsOf(await listed(session, path, query)), [beyond.id]);
  }),
  says('rule 5: the Link header tells the last page', async (session) => {
    const many = await session.shared(manyReviews);
    const answer = await session.call('GET', path, { query: { user_code: manyUser(session), limit: 10 } });
    isSame(`last page of ${many.length} reviews, ten a page`, pageOf(answer, 'last'), 4);
  }),
];

export const reviewList: readonly Statement[] = [...filters, ...pages];
