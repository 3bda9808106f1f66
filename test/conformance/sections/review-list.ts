import { type Context, createdBy, holds, manyReviews, productCodeOf, productIdOf, type Record } from '../records.ts';
import type { Params } from '../session.ts';
import * as is from '../statement.ts';
import { pictured } from './reviews.ts';

const path = '/v1/reviews';
const says = is.inSection('Endpoints, Reviews, List reviews');

type Make = (context: Context) => Promise<is.Row>;
const ours: Make = ({ one }) => one('reviews');
/** Another account, product, tag and score than this run's other reviews. */
const stranger: Make = ({ code, fresh, settings }) =>
  fresh('reviews', 'stranger', {
    ...(settings.productCode ? {} : { product_code: code('product-2') }),
    user_code: code('stranger'),
    tag_name: code('tag-2'),
    score: 2,
  });
const unrated: Make = async (context) => {
  const review = createdBy(context, await context.make('reviews', 'unrated', {}, 'score'));
  if (review.score === null || review.score === undefined) return review;
  throw new is.CannotTell(`needs a review without rating; it has score ${is.show(review.score)}`);
};

/** The list under these parameters has the one review, if one is given, and lacks the other. */
async function tells({ list, shared }: Context, query: Params, has?: Make, lacks?: Make): Promise<void> {
  const [there, absent] = [has && (await shared(has)), lacks && (await shared(lacks))];
  const ids = is.idsOf(await list(path, { limit: 100, ...query }));
  if (there) is.ensure(ids.includes(there.id), `${is.show(query)} without review ${there.id}`, 'that review');
  is.ensure(!ids.includes(absent?.id ?? ''), `${is.show(query)} with review ${absent?.id}`, 'that it is left out');
}

type Query = (context: Context) => Params | Promise<Params>;
/** Parameters under which the list has one review (default: this run's) and lacks another (default: the stranger's). */
const filter = (sentence: string, query: Query, has: Make = ours, lacks: Make = stranger) =>
  says(sentence, async (context) => tells(context, await query(context), has, lacks));
/** The same for a filter that needs two products. */
const productFilter = (name: string, value: (context: Context) => string | Promise<number>) =>
  filter(`${name}: only reviews of that product`, async (context) => {
    if (context.settings.productCode) throw new is.CannotTell('needs two products; run without --product-code');
    return { [name]: await value(context) };
  });

/** A filter with a value that fits none of this run's reviews: then none of them may be listed. */
const none = (name: string, of: string, value: string | number | ((category: Record) => unknown)) =>
  says(`${name}: only reviews ${of}`, async (context) => {
    const { code, get, one } = context;
    const review = await one('reviews');
    const own = { user_code: code('user') };
    if (!(await holds(context, path, own, review))) throw new is.CannotTell('the review made is not in the list');
    const wanted = typeof value === 'function' ? String(value(await one('categories'))) : value;
    const answer = await get(path, { ...own, [name]: wanted, limit: 100 });
    if (is.isRefusal(answer))
      throw new is.CannotTell(`the service refuses a value that it does not know: ${answer.summary}`);
    const isListed = is.idsOf(is.listOf(answer)).includes(review.id);
    is.ensure(!isListed, `with ${name} ${wanted}, review ${review.id} of none`, 'that it is left out');
  });

const reviewList: readonly is.Statement[] = [
  productFilter('product_id', productIdOf),
  productFilter('product_code', productCodeOf),
  filter('user_code: only reviews by that shop account', ({ code }) => ({ user_code: code('user') })),
  none('category_id', 'of products in that category', ({ id }) => id),
  none('category_code', 'of products in that category', ({ code }) => code),
  says('score 1 to 5: only reviews of that rating', async (context) => {
    // By account too: among a busy shop's reviews ours would not be on the first page.
    const [own, theirs] = [{ user_code: context.code('user') }, { user_code: context.code('stranger') }];
    await tells(context, { ...own, score: 4 }, ours);
    await tells(context, { ...theirs, score: 4 }, undefined, stranger);
    await tells(context, { ...theirs, score: 2 }, stranger);
    await tells(context, { ...own, score: 2 }, undefined, ours);
  }),
  filter('score 0: only reviews without rating', ({ code }) => ({ user_code: code('user'), score: 0 }), unrated, ours),
  says('photo 1: photo reviews only', async (context) => {
    const { user_code } = await context.shared(pictured);
    const theirs = typeof user_code === 'string' ? { user_code } : {};
    await tells(context, { ...theirs, photo: 1 }, pictured, ours);
  }),
  filter('tag_name: only reviews with that tag', ({ code }) => ({ tag_name: code('tag') })),
  none('third_party_name', 'integrated by that partner', 'conformance-none'),
  none('sub_brand_id', 'of that sub-brand', 2_147_483_647),
  none('sub_brand_code', 'of that sub-brand', 'conformance-none'),
  says('page: the page of that number', async ({ code, list, shared }) => {
    const many = await shared(manyReviews);
    const [found] = is.idsOf(await list(path, { user_code: code('many'), limit: 1, page: 2 }));
    is.isSame('the review on page 2', found, many[1]?.id);
  }),
  says('rule 4: records beyond page 30 are reached by narrowing the period', async ({ code, list, shared }) => {
    const beyond = is.needed((await shared(manyReviews)).at(-1), 'needs a 31st review');
    const period = { start_datetime: beyond.at.datetime, end_datetime: `${beyond.at.day} 23:59:59` };
    const found = is.idsOf(await list(path, { user_code: code('many'), limit: 1, ...period }));
    is.isSame('the review on page 1 of the narrower period', found, [beyond.id]);
  }),
  says('rule 5: the Link header tells the last page', async ({ code, get, shared }) => {
    const { length } = await shared(manyReviews);
    const answer = await get(path, { user_code: code('many'), limit: 10 });
    is.isSame(`last page of ${length} reviews, ten a page`, is.pageOf(answer, 'last'), 4);
  }),
];

/**
 * A review of this run, written at a time of its own, on condition that the service's day is still that of the first
 * one.
 */
const reviewAt = (name: string, days: number, time: string) => {
  const make = async (context: Context) => {
    const at = await context.daysAgo(days, time);
    const made = await context.fresh('reviews', name, { user_code: context.code('dated'), created_at: at.iso });
    // Clocks that went forward or back in between would move it.
    if (String(made.created_at).slice(0, 19) === at.iso.slice(0, 19)) return { ...made, at };
    throw new is.CannotTell(`a review written at ${at.iso} is shown at ${made.created_at}`);
  };
  return async ({ shared, today }: Context) => {
    const day = await shared(dayOfRun);
    const review = await shared(make);
    if ((await today()) === day) return review;
    throw new is.CannotTell('the service’s day changed during the run; run it again');
  };
};
const dayOfRun = ({ today }: Context) => today();

const [noon, midnight, last] = ['12:00:00', '00:00:00', '23:59:59'];
const yesterday = reviewAt('yesterday', 1, noon);
const tenDays = reviewAt('ten-days', 10, noon);
const tenDaysLater = reviewAt('ten-days-later', 10, '12:00:01');
const thirtyDays = reviewAt('thirty-days', 30, midnight);
const moreThanThirty = reviewAt('more-than-thirty', 31, last);
const fortyFour = reviewAt('forty-four', 44, midnight);
const fifty = reviewAt('fifty', 50, noon);
const tomorrow = reviewAt('tomorrow', -1, '00:00:01');
const endOfToday = reviewAt('end-of-today', 0, last);
type Dated = typeof tenDays;

const ofDated = ({ code }: Context, query: Params): Params => ({ limit: 100, user_code: code('dated'), ...query });

async function isListed(context: Context, query: Params, dated: Dated, isThere: boolean): Promise<void> {
  const review = await dated(context);
  const ids = is.idsOf(await context.list(path, ofDated(context, query)));
  const [how, expected] = isThere ? ['without', 'that review'] : ['with', 'that it is left out'];
  is.ensure(ids.includes(review.id) === isThere, `${is.show(query)} ${how} a review of ${review.at.iso}`, expected);
}

/**
 * What a list is asked for: a value with which a parameter is one of these days before today, or a time of such a day.
 */
type Asked = { readonly [name: string]: number | readonly [days: number, time: string] };
/** A list, the reviews that it must have, and those that it must lack. */
type Listing = readonly [asked: Asked, has: readonly Dated[], lacks?: readonly Dated[]];

const lists = (sentence: string, ...listings: readonly Listing[]) =>
  says(sentence, async (context) => {
    const { daysAgo } = context;
    for (const [asked, has, lacks = []] of listings) {
      const query: { [name: string]: string } = {};
      for (const [name, value] of Object.entries(asked))
        query[name] =
          typeof value === 'number' ? (await daysAgo(value, midnight)).day : (await daysAgo(...value)).datetime;
      for (const dated of has) await isListed(context, query, dated, true);
      for (const dated of lacks) await isListed(context, query, dated, false);
    }
  });

const reviewPeriod: readonly is.Statement[] = [
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
  says('date_updated_at 1: dates are of the update instead of the creation', async (context) => {
    const { day } = (await fortyFour(context)).at;
    const period = { start_date: day, end_date: day };
    await isListed(context, {}, fortyFour, false);
    await isListed(context, { date_updated_at: 1 }, fortyFour, true);
    await isListed(context, period, fortyFour, true);
    await isListed(context, { ...period, date_updated_at: 1 }, fortyFour, false);
  }),
  says('date_order_desc 1: newest first, the reverse of the order without it', async (context) => {
    const ids = [(await tenDays(context)).id, (await tenDaysLater(context)).id];
    const inOrder = async (query: Params) =>
      is.idsOf(await context.list(path, ofDated(context, query))).filter((id) => ids.includes(id as number));
    is.isSame('order with date_order_desc=1', await inOrder({ date_order_desc: 1 }), ids.toReversed());
    is.isSame('order without it', await inOrder({}), ids);
  }),
  lists('rule 1: without dates the last 30 days are queried', [{}, [yesterday, thirtyDays], [moreThanThirty]]),
  lists('rule 2: a period of 45 days is queried', [{ start_date: 44, end_date: 0 }, [fortyFour, yesterday]]),
  says('rule 2: no period of more than 45 days is queried', async (context) => {
    const [first, second] = [await fifty(context), await yesterday(context)];
    const period = { start_date: first.at.day, end_date: await context.today() };
    const answer = await context.get(path, ofDated(context, period));
    if (is.isRefusal(answer)) return;
    const ids = is.idsOf(is.listOf(answer));
    const isBoth = ids.includes(first.id) && ids.includes(second.id);
    const found = `reviews of ${first.at.day} and ${second.at.day} in one answer`;
    is.ensure(!isBoth, found, 'a refusal, or 45 days at most');
  }),
  lists('rule 3: where datetimes are given, dates are ignored', [
    { start_date: 1, end_date: 1, start_datetime: [10, midnight], end_datetime: [10, last] },
    [tenDays],
    [yesterday],
  ]),
];

export const reviewLists = [...reviewList, ...reviewPeriod];
