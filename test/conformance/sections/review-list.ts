import { ensure, idsOf, isRefusal, isSame, listOf, pageOf, type Row, show } from '../expect.ts';
import {
  clockOf,
  codeOf,
  createdBy,
  holds,
  listed,
  manyReviews,
  manyUser,
  post,
  productCodeOf,
  productIdOf,
  records,
  reviewParams,
  userOf,
} from '../records.ts';
import type { Params, Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { pictured, reviewAt } from './review-reading.ts';

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
  records.reviews.fresh(session, 'stranger', {
    ...(session.settings.productCode ? {} : { product_code: codeOf(session, 'product-2') }),
    user_code: codeOf(session, 'stranger'),
    tag_name: codeOf(session, 'tag-2'),
    score: 2,
  });

/** A review of another product than `stranger`'s: by one account, so that the list is short. */
async function productFilter(session: Session, name: string, value: string | number): Promise<void> {
  if (session.settings.productCode) throw new CannotTell('needs two products; run without --product-code');
  const [own, other] = [await session.shared(records.reviews.one), await session.shared(stranger)];
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
  const review = await session.shared(records.reviews.one);
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

export const reviewList: readonly Statement[] = [
  says('product_id: only reviews of that product', async (session) =>
    productFilter(session, 'product_id', await productIdOf(session)),
  ),
  says('product_code: only reviews of that product', async (session) =>
    productFilter(session, 'product_code', productCodeOf(session)),
  ),
  says('user_code: only reviews by that shop account', async (session) =>
    tells(
      session,
      { user_code: userOf(session) },
      await session.shared(records.reviews.one),
      await session.shared(stranger),
    ),
  ),
  says(
    'category_id: only reviews of products in that category',
    none('category_id', async (session) => (await session.shared(records.categories.one)).id),
  ),
  says(
    'category_code: only reviews of products in that category',
    none('category_code', async (session) => String((await session.shared(records.categories.one)).code)),
  ),
  says('score 1 to 5: only reviews of that rating', async (session) => {
    // By account too: among a busy shop's reviews ours would not be on the first page.
    const [four, two] = [await session.shared(records.reviews.one), await session.shared(stranger)];
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
      await session.shared(records.reviews.one),
    ),
  ),
  says('photo 1: photo reviews only', async (session) => {
    const [withPhoto, without] = [await session.shared(pictured), await session.shared(records.reviews.one)];
    const theirs = typeof withPhoto.user_code === 'string' ? { user_code: withPhoto.user_code } : {};
    await tells(session, { ...theirs, photo: 1 }, withPhoto, without);
  }),
  says('tag_name: only reviews with that tag', async (session) =>
    tells(
      session,
      { tag_name: codeOf(session, 'tag') },
      await session.shared(records.reviews.one),
      await session.shared(stranger),
    ),
  ),
  says('third_party_name: only reviews integrated by that partner', none('third_party_name', 'conformance-none')),
  says('sub_brand_id: only reviews of that sub-brand', none('sub_brand_id', 2_147_483_647)),
  says('sub_brand_code: only reviews of that sub-brand', none('sub_brand_code', 'conformance-none')),
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

const yesterday = reviewAt('yesterday', 1, '12:00:00');
const tenDays = reviewAt('ten-days', 10, '12:00:00');
const tenDaysLater = reviewAt('ten-days-later', 10, '12:00:01');
const thirtyDays = reviewAt('thirty-days', 30, '00:00:00');
const moreThanThirty = reviewAt('more-than-thirty', 31, '23:59:59');
const fortyFour = reviewAt('forty-four', 44, '00:00:00');
const fifty = reviewAt('fifty', 50, '12:00:00');
const tomorrow = reviewAt('tomorrow', -1, '00:00:01');
const endOfToday = reviewAt('end-of-today', 0, '23:59:59');

type Dated = Awaited<ReturnType<typeof tenDays>>;

const dated = (session: Session): Params => ({ user_code: codeOf(session, 'dated') });
const ask = async (session: Session, query: Params) =>
  idsOf(await listed(session, path, { limit: 100, ...dated(session), ...query }));

/** The review, on condition that it is still the day on which the first of them was written. */
async function on(session: Session, make: (session: Session) => Promise<Dated>): Promise<Dated> {
  const day = await session.shared(dayOfRun);
  const review = await session.shared(make);
  if ((await clockOf(session)).today() === day) return review;
  throw new CannotTell('the service’s day changed during the run; run it again');
}

const dayOfRun = async (session: Session) => (await clockOf(session)).today();
const dayAt = async (session: Session, days: number) => (await clockOf(session)).daysAgo(days, '00:00:00').day;

/** What a list is asked for: a value by which a parameter is one of these days before today, or a time of such a day. */
type Asked = Readonly<Record<string, number | readonly [days: number, time: string]>>;
type Make = typeof tenDays;
/** A list, the reviews that it must have, and those that it must lack. */
type Listing = readonly [asked: Asked, has: readonly Make[], lacks?: readonly Make[]];

async function isListed(session: Session, query: Params, make: Make, isThere: boolean): Promise<void> {
  const review = await on(session, make);
  const ids = await ask(session, query);
  const [how, expected] = isThere ? ['without', 'that review'] : ['with', 'that it is left out'];
  ensure(ids.includes(review.id) === isThere, `${show(query)} ${how} a review of ${review.at.iso}`, expected);
}

const lists = (sentence: string, ...listings: readonly Listing[]): Statement =>
  says(sentence, async (session) => {
    const clock = await clockOf(session);
    for (const [asked, has, lacks = []] of listings) {
      const values = Object.entries(asked).map(([name, value]) => [
        name,
        typeof value === 'number' ? clock.daysAgo(value, '00:00:00').day : clock.daysAgo(...value).datetime,
      ]);
      for (const make of has) await isListed(session, Object.fromEntries(values), make, true);
      for (const make of lacks) await isListed(session, Object.fromEntries(values), make, false);
    }
  });

const [noon, midnight, last] = ['12:00:00', '00:00:00', '23:59:59'];

const dates: Statement[] = [
  says('date_updated_at 1: dates are of the update instead of the creation', async (session) => {
    const { day } = (await on(session, fortyFour)).at;
    const period = { start_date: day, end_date: day };
    await isListed(session, {}, fortyFour, false);
    await isListed(session, { date_updated_at: 1 }, fortyFour, true);
    await isListed(session, period, fortyFour, true);
    await isListed(session, { ...period, date_updated_at: 1 }, fortyFour, false);
  }),
  says('date_order_desc 1: newest first, the reverse of the order without it', async (session) => {
    const [first, second] = [await on(session, tenDays), await on(session, tenDaysLater)];
    const inOrder = async (query: Params) =>
      (await ask(session, query)).filter((id) => id === first.id || id === second.id);
    isSame('order with date_order_desc=1', await inOrder({ date_order_desc: 1 }), [second.id, first.id]);
    isSame('order without it', await inOrder({}), [first.id, second.id]);
  }),
];

async function noMoreThan45Days(session: Session): Promise<void> {
  const [first, last] = [await on(session, fifty), await on(session, yesterday)];
  const query = { ...dated(session), limit: 100, start_date: first.at.day, end_date: await dayAt(session, 0) };
  const answer = await session.call('GET', path, { query });
  if (isRefusal(answer)) return;
  const ids = idsOf(listOf(answer));
  const isBoth = ids.includes(first.id) && ids.includes(last.id);
  ensure(!isBoth, `reviews of ${first.at.day} and ${last.at.day} in one answer`, 'a refusal, or 45 days at most');
}

export const reviewPeriod: readonly Statement[] = [
  lists(
    'start_date: from this day',
    [{ start_date: 10, end_date: 0 }, [tenDays]],
    [{ start_date: 9, end_date: 0 }, [], [tenDays]],
  ),
  lists(
    'end_date: up to this day',
    [{ start_date: 20, end_date: 10 }, [tenDays]],
    [{ start_date: 20, end_date: 11 }, [], [tenDays]],
  ),
  lists('start_date: default 30 days before', [{ end_date: 0 }, [thirtyDays], [moreThanThirty]]),
  lists('end_date: default request day', [{ start_date: 2 }, [yesterday], [tomorrow]]),
  lists(
    'start_datetime: from this time',
    [{ start_datetime: [10, noon], end_datetime: [9, midnight] }, [tenDays]],
    [{ start_datetime: [10, '12:00:01'], end_datetime: [9, midnight] }, [tenDaysLater], [tenDays]],
  ),
  lists(
    'end_datetime: up to this time',
    [{ start_datetime: [11, midnight], end_datetime: [10, '12:00:01'] }, [tenDaysLater]],
    [{ start_datetime: [11, midnight], end_datetime: [10, noon] }, [tenDays], [tenDaysLater]],
  ),
  lists('start_datetime: default 00:00:00 thirty days before', [
    { end_datetime: [0, last] },
    [thirtyDays],
    [moreThanThirty],
  ]),
  lists('end_datetime: default 23:59:59 of request day', [{ start_datetime: [2, midnight] }, [endOfToday], [tomorrow]]),
  ...dates,
  lists('rule 1: without dates the last 30 days are queried', [{}, [yesterday, thirtyDays], [moreThanThirty]]),
  lists('rule 2: a period of 45 days is queried', [{ start_date: 44, end_date: 0 }, [fortyFour, yesterday]]),
  says('rule 2: no period of more than 45 days is queried', noMoreThan45Days),
  lists('rule 3: where datetimes are given, dates are ignored', [
    { start_date: 1, end_date: 1, start_datetime: [10, midnight], end_datetime: [10, last] },
    [tenDays],
    [yesterday],
  ]),
];
