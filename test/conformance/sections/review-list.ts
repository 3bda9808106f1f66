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
import { once, type Params, type Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { pictured, reviewAt } from './review-reading.ts';

const path = '/v1/reviews';
const says = inSection('Endpoints, Reviews, List reviews');

type Make = (session: Session) => Promise<Row>;
const ours = records.reviews.one;
/** Another account, product, tag and score than this run's other reviews. */
const stranger = once((session) =>
  records.reviews.fresh(session, 'stranger', {
    ...(session.settings.productCode ? {} : { product_code: codeOf(session, 'product-2') }),
    user_code: codeOf(session, 'stranger'),
    tag_name: codeOf(session, 'tag-2'),
    score: 2,
  }),
);
const unrated = once(async (session) => {
  const { score: _, ...params } = reviewParams(session);
  const review = createdBy(session, await post(session, 'reviews', 'unrated', params));
  if (review.score === null || review.score === undefined) return review;
  throw new CannotTell(`needs a review without rating; it has score ${show(review.score)}`);
});

/** The list under these parameters has the one review, where one is given, and lacks the other. */
async function tells(session: Session, query: Params, has?: Make, lacks?: Make): Promise<void> {
  const [there, absent] = [await has?.(session), await lacks?.(session)];
  const ids = idsOf(await listed(session, path, { limit: 100, ...query }));
  if (there) ensure(ids.includes(there.id), `${show(query)} without review ${there.id}`, 'that review');
  ensure(!ids.includes(absent?.id ?? ''), `${show(query)} with review ${absent?.id}`, 'that it is left out');
}

type Query = (session: Session) => Params | Promise<Params>;
/** Parameters under which the list has this run's review, or another one, and lacks that of the stranger, or another. */
const filter = (sentence: string, query: Query, has: Make = ours, lacks: Make = stranger) =>
  says(sentence, async (session) => tells(session, await query(session), has, lacks));
const twoProducts = ({ settings }: Session) => {
  if (settings.productCode) throw new CannotTell('needs two products; run without --product-code');
};

type Wanted = string | number | ((session: Session) => Promise<string | number>);

/** A filter whose value fits none of this run's reviews: then none of them may be listed. */
const none = (name: string, of: string, value: Wanted) =>
  says(`${name}: only reviews ${of}`, async (session) => {
    const review = await ours(session);
    const own = { user_code: userOf(session) };
    if (!(await holds(session, path, own, review))) throw new CannotTell('the review made is not in the list');
    const wanted = typeof value === 'function' ? await value(session) : value;
    const answer = await session.call('GET', path, { query: { ...own, [name]: wanted, limit: 100 } });
    if (isRefusal(answer)) throw new CannotTell(`the service refuses a value that it does not know: ${answer.told}`);
    const isListed = idsOf(listOf(answer)).includes(review.id);
    ensure(!isListed, `with ${name} ${wanted}, review ${review.id} of none`, 'that it is left out');
  });

export const reviewList: readonly Statement[] = [
  filter('product_id: only reviews of that product', async (session) => {
    twoProducts(session);
    return { product_id: await productIdOf(session) };
  }),
  filter('product_code: only reviews of that product', (session) => {
    twoProducts(session);
    return { product_code: productCodeOf(session) };
  }),
  filter('user_code: only reviews by that shop account', (session) => ({ user_code: userOf(session) })),
  none('category_id', 'of products in that category', async (session) => (await records.categories.one(session)).id),
  none('category_code', 'of products in that category', async (session) =>
    String((await records.categories.one(session)).code),
  ),
  says('score 1 to 5: only reviews of that rating', async (session) => {
    // By account too: among a busy shop's reviews ours would not be on the first page.
    const [own, theirs] = [{ user_code: userOf(session) }, { user_code: codeOf(session, 'stranger') }];
    await tells(session, { ...own, score: 4 }, ours);
    await tells(session, { ...theirs, score: 4 }, undefined, stranger);
    await tells(session, { ...theirs, score: 2 }, stranger);
    await tells(session, { ...own, score: 2 }, undefined, ours);
  }),
  filter(
    'score 0: only reviews without rating',
    (session) => ({ user_code: userOf(session), score: 0 }),
    unrated,
    ours,
  ),
  says('photo 1: photo reviews only', async (session) => {
    const { user_code } = await pictured(session);
    const theirs = typeof user_code === 'string' ? { user_code } : {};
    await tells(session, { ...theirs, photo: 1 }, pictured, ours);
  }),
  filter('tag_name: only reviews with that tag', (session) => ({ tag_name: codeOf(session, 'tag') })),
  none('third_party_name', 'integrated by that partner', 'conformance-none'),
  none('sub_brand_id', 'of that sub-brand', 2_147_483_647),
  none('sub_brand_code', 'of that sub-brand', 'conformance-none'),
  says('page: the page of that number', async (session) => {
    const many = await manyReviews(session);
    const query = { user_code: manyUser(session), limit: 1, page: 2 };
    isSame('the review on page 2', idsOf(await listed(session, path, query))[0], many[1]?.id);
  }),
  says('rule 4: records beyond page 30 are reached by narrowing the period', async (session) => {
    const beyond = (await manyReviews(session)).at(-1);
    if (!beyond) throw new CannotTell('needs a 31st review');
    const start_datetime = beyond.at.datetime;
    const query = { user_code: manyUser(session), limit: 1, start_datetime, end_datetime: `${beyond.at.day} 23:59:59` };
    isSame('the review on page 1 of the narrower period', idsOf(await listed(session, path, query)), [beyond.id]);
  }),
  says('rule 5: the Link header tells the last page', async (session) => {
    const many = await manyReviews(session);
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

type Dated = typeof tenDays;

const dated = (session: Session): Params => ({ user_code: codeOf(session, 'dated') });
const ask = async (session: Session, query: Params) =>
  idsOf(await listed(session, path, { limit: 100, ...dated(session), ...query }));

const dayOfRun = once(async (session) => (await clockOf(session)).today());
/** The review, on condition that it is still the day on which the first of them was written. */
async function on(session: Session, make: Dated) {
  const day = await dayOfRun(session);
  const review = await make(session);
  if ((await clockOf(session)).today() === day) return review;
  throw new CannotTell('the service’s day changed during the run; run it again');
}

/** What a list is asked for: a value by which a parameter is one of these days before today, or a time of such a day. */
type Asked = Readonly<Record<string, number | readonly [days: number, time: string]>>;
/** A list, the reviews that it must have, and those that it must lack. */
type Listing = readonly [asked: Asked, has: readonly Dated[], lacks?: readonly Dated[]];

async function isListed(session: Session, query: Params, make: Dated, isThere: boolean): Promise<void> {
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
        typeof value === 'number' ? clock.daysAgo(value, midnight).day : clock.daysAgo(...value).datetime,
      ]);
      for (const make of has) await isListed(session, Object.fromEntries(values), make, true);
      for (const make of lacks) await isListed(session, Object.fromEntries(values), make, false);
    }
  });

const [noon, midnight, last] = ['12:00:00', '00:00:00', '23:59:59'];

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
  lists('rule 1: without dates the last 30 days are queried', [{}, [yesterday, thirtyDays], [moreThanThirty]]),
  lists('rule 2: a period of 45 days is queried', [{ start_date: 44, end_date: 0 }, [fortyFour, yesterday]]),
  says('rule 2: no period of more than 45 days is queried', async (session) => {
    const [first, last] = [await on(session, fifty), await on(session, yesterday)];
    const period = { start_date: first.at.day, end_date: (await clockOf(session)).today() };
    const answer = await session.call('GET', path, { query: { ...dated(session), limit: 100, ...period } });
    if (isRefusal(answer)) return;
    const ids = idsOf(listOf(answer));
    const isBoth = ids.includes(first.id) && ids.includes(last.id);
    ensure(!isBoth, `reviews of ${first.at.day} and ${last.at.day} in one answer`, 'a refusal, or 45 days at most');
  }),
  lists('rule 3: where datetimes are given, dates are ignored', [
    { start_date: 1, end_date: 1, start_datetime: [10, midnight], end_datetime: [10, last] },
    [tenDays],
    [yesterday],
  ]),
];
