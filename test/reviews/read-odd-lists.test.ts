import pLimit from 'p-limit';
import { expect, test, vi } from 'vitest';
import { LimitedError, NotFoundError, RefusedError, UnavailableError } from '../../src/review-api/index.ts';
import { listLimits } from '../../src/reviews/limits.ts';
import { newestOf } from '../../src/reviews/plan/review-bounds.ts';
import { readSpan } from '../../src/reviews/read/read-span.ts';
import { readSpans } from '../../src/reviews/read/read-window.ts';
import { openLists, type ReadDeps } from '../../src/reviews/review-deps.ts';
import { createRandom } from '../../src/sandbox/sample-shop/random.ts';
import type { Axis } from '../../src/warehouse/reviews/coverage.ts';
import { testSeed } from '../harness/sampled.ts';
import { type LastPage, listModel, type ModelReview, type Mood, usualMood } from './list-model.ts';

type Service = ReadDeps['reviews'];

const mood: Mood = { ...usualMood, zone: 'America/New_York', lastPage: 'absent', ambiguous: 'second' };
const at = (text: string) => Date.parse(text);
const span = { start: at('2026-10-20T00:00:00Z') / 1000, end: at('2026-11-10T00:00:00Z') / 1000 };

/** So many reviews, evenly spread over as many seconds from `from`. */
const spread = (count: number, from: number, seconds: number): ModelReview[] =>
  Array.from({ length: count }, (_, index) => {
    const ms = from + Math.floor((index * seconds * 1000) / count);
    const id = Math.floor(from / 1000) + index;
    return { id, createdMs: ms, updatedMs: ms, score: index % 6 || null, productId: index % 9 };
  });
/** A list of these reviews, or of those that there are at each request. */
const listed = (reviews: readonly ModelReview[] | (() => readonly ModelReview[]), how: Partial<Mood> = {}): Service =>
  listModel(
    typeof reviews === 'function' ? reviews : () => reviews,
    { ...mood, ...how },
    { ...listLimits, days: 45 },
    createRandom(testSeed).next,
  );

type Answer = Awaited<ReturnType<Service['page']>>;
type Params = Parameters<Service['page']>[0];
type Row = { id: number };
type OddAnswer = Omit<Answer, 'items'> & { items: Row[] };
type Change = (service: Service, reviews: readonly ModelReview[], how: Partial<Mood>) => Service;

/** The service with changed responses; `number` counts its requests. */
function answering(
  service: Service,
  change: (answer: OddAnswer, request: { params: Params; page: number; number: number }) => Partial<Answer>,
): Service {
  let number = 0;
  return {
    async page(params, page) {
      number += 1;
      const answer = await service.page(params, page);
      const changed = { ...answer, ...change(answer as OddAnswer, { params, page, number }) };
      return { ...changed, rawBody: Buffer.from(JSON.stringify(changed.items)) };
    },
  };
}
/** The service with changed requests. */
const asking = (service: Service, change: (params: Params, page: number) => [Params, number]): Service => ({
  page: async (params, page, options) => service.page(...change(params, page), options),
});
/** The service, which answers some requests with the error. */
const failing = (service: Service, error: Error, fails: (params: Params) => unknown): Service =>
  asking(service, (params, page) => {
    if (fails(params)) throw error;
    return [params, page];
  });
const none = { items: [] };
const pageOf = (items: unknown[], lastPage: number | undefined): Answer => {
  return { items, lastPage, rawBody: Buffer.from(JSON.stringify(items)), requestedAt: new Date('2030-01-01') };
};

const failure = { method: 'GET', path: '/v1/reviews', status: 500, attempts: 14 };
/** A proxy that waits too long for an answer, or a process that dies of the request, may end it without any. */
const noResponse = { ...failure, status: undefined, detail: 'the connection broke' };
const refusal = new RefusedError({ ...failure, status: 400 });

/** A process that has seen a long list: it does not take a list with a round number of reviews as cut. */
const freshLists = () => ({ ...openLists(pLimit(8)), mostRecords: 10_000 });

const usual = { signal: AbortSignal.any([]), plausible: { start: at('2000-01-01') / 1000, end: 4e9 } };

type Reading = {
  timeZone?: string;
  now?: Date;
  lists?: ReturnType<typeof openLists>;
  axis?: Axis;
  plausible?: ReadDeps['plausible'];
};

function depsOf(reviews: Service, { now = new Date('2026-12-01'), ...how }: Omit<Reading, 'axis'> = {}): ReadDeps {
  return { ...usual, reviews, timeZone: mood.zone, lists: freshLists(), ...how, now: () => now };
}

async function idsRead(service: Service, { axis = 'created', ...how }: Reading = {}) {
  const ids = new Set<number>();
  let requests = 0;
  const reviews = asking(service, (...request) => {
    requests += 1;
    return request;
  });
  const sink = {
    async land(page: { ids: readonly string[] }) {
      for (const id of page.ids) ids.add(Number(id));
    },
    enter: async () => undefined,
    doubt: async () => undefined,
  };
  const gaps = await readSpans(depsOf(reviews, how), axis, [span], sink);
  return { ids: [...ids].sort((a, b) => a - b), reasons: gaps.map((gap) => gap.reason), gaps, requests };
}

const idsOf = (reviews: readonly ModelReview[]) => reviews.map((review) => review.id).sort((a, b) => a - b);
const noon = at('2026-10-28T12:00:00Z');
/** So many reviews of one day, or of the whole span. */
const ofDay = (count: number) => spread(count, noon, 86_400);
const ofSpanEvenly = (count: number) => spread(count, span.start * 1000, span.end - span.start);
/** The instant of a date of a request in UTC. */
const utc = (text = '') => at(`${text.replace(' ', 'T')}Z`);
const utcZone = { timeZone: 'UTC' };

/** All reviews are read, without a gap, and with fewer requests than these. */
async function readsAll(
  service: Service,
  reviews: readonly ModelReview[],
  requests = 1e9,
  what: object = {},
  how: Reading = {},
) {
  const read = await idsRead(service, how);
  expect({ ...what, ...read }).toMatchObject({ ...what, ids: idsOf(reviews), reasons: [] });
  expect({ ...what, requests: read.requests }).toEqual({ ...what, requests: Math.min(read.requests, requests - 1) });
}

test.each([
  // Both halves of an empty list are looked at, and days without reviews before and behind others.
  ['real', 0, 100, 4],
  ['capped', 0, 100, 4],
  ['absent', 0, 100, 4],
  ['real', 40, 100, 4],
  ['real', 1, 100, 12],
  ['absent', 1, 100, 12],
  ['absent', 40, 100, 4],
  ['real', 450, 100, 10],
  ['not on the last', 450, 100, 10],
  ['only on page 1', 450, 100, 10],
  ['only on page 1', 400, 100, 12],
  ['absent', 300, 100, 16],
  ['absent', 2900, 50, 240],
  ['fixed', 40, 100, 13],
  ['fixed', 1, 100, 70],
  ['fixed', 0, 100, 40],
  ['real', 2850, 60, 150],
  ['for the limit', 450, 30, 50],
  ['cached', 480, 30, 60],
  ['cached', 300, 100, 20],
] as const)(
  'a last page named %s: %i reviews in pages of %i are read with %i requests',
  async (lastPage, count, pageSize, requests) => {
    const reviews = ofDay(count);
    for (const behind of [200, 404, 422, 500, 'the last again'] as const) {
      await readsAll(listed(reviews, { lastPage, pageSize, behind }), reviews, requests + 1, { behind });
    }
  },
);

const page1: Change = (service) => asking(service, (params) => [params, 1]);
const ascending: Change = (service) => asking(service, (params, page) => [{ ...params, date_order_desc: false }, page]);
const isDescending = ({ date_order_desc }: Params) => date_order_desc;
const turning: Change = (service, ...rest) =>
  answering(ascending(service, ...rest), ({ items }, { params }) =>
    isDescending(params) ? { items: items.toReversed() } : {},
  );
/** Pages of so many reviews, whatever the limit, and one number of the last page. */
const cutting =
  (size: number, lastPage: number | undefined): Change =>
  (service) => ({
    async page({ limit = 100, ...params }, page) {
      if (limit < 1 || limit > 100) throw new Error(`no request may have a limit of ${limit}`);
      const pages = Array.from({ length: 30 }, (_, at) => service.page(params as Params, at + 1));
      const items = (await Promise.all(pages)).flatMap((one) => one.items);
      return pageOf(items.slice((page - 1) * size, page * size), lastPage);
    },
  });
const wholeAgain: Change = (service, reviews, how) =>
  page1(cutting(reviews.length, undefined)(service, reviews, how), reviews, how);
const emptyFrom =
  (first: number): Change =>
  (service) =>
    answering(service, (_, { page }) => (page >= first ? none : {}));
const naming =
  (named: (last: number, number: number) => number): Change =>
  (service) =>
    answering(service, ({ lastPage = 1 }, { number }) => ({ lastPage: named(lastPage, number) }));

/** It names as many pages as pages of half the size would have, and shows page 1 behind the last one. */
const firstAgain: Change = (service) => ({
  async page(params, page) {
    const { items, lastPage = 1 } = await service.page(params, page);
    const shown = await service.page(params, items.length > 0 ? page : 1);
    return { ...shown, lastPage: 2 * lastPage - 1 };
  },
});

/** Empty at first, and then refused from its other end. */
const emptyOnce: Change = (service) =>
  answering(service, (_, { number }) => {
    if (number === 2) throw refusal;
    return number === 1 ? none : {};
  });
/** Page 2 shows the last review of page 1 again, in two readings of page 1, page 2 and the empty one behind them. */
const twiceInTwoReadings: Change = (service, reviews) =>
  answering(service, ({ items: [first, ...others] }, { page, number }) =>
    page === 2 && number <= 6 ? { items: [{ ...(first as object), id: reviews[99]?.id }, ...others] } : {},
  );
const datedFarAway: Change = (service, reviews) =>
  answering(service, ({ items }) => ({
    items: items.map((item) => (item.id === reviews[42]?.id ? { ...item, created_at: '2011-01-01T00:00:00Z' } : item)),
  }));

const endingEarly: Change = (service, ...rest) =>
  answering(ascending(naming((last) => Math.max(1, last - 1))(service, ...rest), ...rest), (_, { page }) => {
    if (page === 13) throw new UnavailableError(failure);
    return {};
  });

const lengthOf = ({ start_datetime, end_datetime }: Params) => at(end_datetime ?? '') - at(start_datetime ?? '');
/** It shows other dates instead of a period of more days. */
const forgetting =
  (others: Partial<Params>, days: number): Change =>
  (service) =>
    asking(service, (params, page) => [
      (lengthOf(params) > days * 86_400_000 ? { ...params, ...others } : params) as Params,
      page,
    ]);

const twoPages =
  (behind: 'refused' | 'not found' | 'empty' | 'the last again' | 'the first again'): Change =>
  (service, _, { lastPage }) => {
    const shown = asking(service, (params, page) => [params, page <= 2 ? page : behind === 'the last again' ? 2 : 1]);
    return answering(shown, (answer, { page }) => {
      if (page > 2 && behind === 'refused') throw refusal;
      if (page > 2 && behind === 'not found') throw new NotFoundError({ ...failure, status: 404 });
      const capped = lastPage === 'capped' ? { lastPage: Math.min(2, answer.lastPage ?? 2) } : {};
      return page > 2 && behind === 'empty' ? { ...capped, ...none } : capped;
    });
  };

const otherDates = { start_datetime: '2026-11-11 00:00:00', end_datetime: '2026-12-01 00:00:00' };
const ofOtherDates = spread(46, at('2026-11-12T00:00:00Z'), 15 * 86_400);
const always = { start_datetime: '2026-10-01 00:00:00', end_datetime: '2026-10-09 00:00:00', limit: 100 };
const byUpdate: Reading = { axis: 'updated', timeZone: 'UTC' };
/** Each list by update takes a minute, and fails. */
const clock = new Date('2026-12-01');
const passesMinute = ({ date_updated_at }: Params) => date_updated_at && clock.setTime(clock.getTime() + 60_000);

const moods = (lastPages: readonly LastPage[], more: readonly Partial<Mood>[] = [{}]) =>
  lastPages.flatMap((lastPage) => more.map((one) => ({ lastPage, ...one })));
const behinds = [{ behind: 200 }, { behind: 404 }, { behind: 'the last again' }] as const;
const usually = moods(['real', 'capped', 'absent']);
const ofWeek = (count: number) => spread(count, noon, 600_000);
const few = [450, 99, 101, 2].map(ofDay);
const many = [0, 1, 100, 300, 2850, 2900, 3000].map(ofWeek);
const byCount = (count: number) => 160 + (7 * count) / 100;
// Page 1 is of one second, so it does not show its order.
const ofTwoDays = [...spread(100, noon, 1), ...spread(350, noon + 200_000, 86_400)];
const inRepeatedHour = [
  ...spread(3500, at('2026-11-01T05:00:00Z'), 7200),
  ...spread(150, at('2026-10-25T00:00:00Z'), 86_400),
];
const ofSpan = [
  // One is of the last second of the span.
  [...spread(200, span.start * 1000, 20 * 86_400), ...spread(1, (span.end - 1) * 1000, 1)],
  spread(200, span.start * 1000, 9 * 86_400),
  spread(200, (span.end - 9 * 86_400) * 1000, 9 * 86_400),
];

const refusing = (error: Error) => (service: Service) => failing(service, error, isDescending);
const showingNone: Change = (service) => answering(service, (_, { params }) => (isDescending(params) ? none : {}));
const onlyTwo: Change = (...given) => refusing(refusal)(twoPages('empty')(...given));
const newestDays = forgetting({ start_datetime: '2026-11-01 00:00:00' }, 14);
const firstDays = forgetting({ end_datetime: '2026-10-30 00:00:00' }, 14);
const real = moods(['real']);
const absent = moods(['absent']);
const withoutOrder = moods(['real', 'capped', 'only on page 1'], [{ ordered: false }]);
const unsorted = moods(['real', 'absent', 'cached'], behinds);
const turned = moods(['absent', 'cached', 'real']);
const ofTwenty = usually.map((one) => ({ ...one, pageSize: 20 }));
// Thirty lists of two pages are more than a window is halved.
const ofTwoPages = [ofDay(1200)];

type OddService = [
  what: string,
  Change,
  Partial<Mood>[],
  (readonly ModelReview[])[],
  requests: number | typeof byCount,
];
test.each<OddService>([
  ['has 3,500 reviews in the hour that comes twice', (one) => one, real, [inRepeatedHour], 550],
  ['has 6,000 reviews on pages of ten', (one) => one, moods(['real'], [{ pageSize: 10 }]), [ofDay(6000)], 1000],
  ['shows thirty a page', (one) => one, moods(['real', 'capped'], [{ pageSize: 30 }]), [ofSpanEvenly(2850)], 230],
  ['always shows page 1', page1, moods(['absent', 'fixed', 'for the limit']), [ofDay(450)], 800],
  ['always shows page 1, of ten', page1, moods(['absent'], [{ pageSize: 10 }]), [ofDay(450)], 1000],
  ['ignores limit and page, and shows all each time', wholeAgain, absent, few, 40],
  ['ignores descending order', ascending, unsorted, [ofTwoDays, []], 100],
  ['refuses descending order', refusing(refusal), unsorted, [ofTwoDays, []], 100],
  ['fails on descending order', refusing(new UnavailableError(failure)), unsorted, [ofTwoDays, []], 100],
  ['shows nothing in descending order', showingNone, real, [2900, 6000].map(ofWeek), 100],
  ['turns each page by itself for descending order', turning, turned, [100, 200, 450, 2000].map(ofDay), (all) => all],
  ['has no order, and names pages from 11 on that are empty', emptyFrom(11), withoutOrder, [ofWeek(2500)], 350],
  ['has no order, and names pages from 21 on that are empty', emptyFrom(21), withoutOrder, [ofWeek(2500)], 150],
  ['names a last page that is one too large', naming((last) => last + 1), real, many, byCount],
  ['names one that is one too small', naming((last) => Math.max(1, last - 1)), real, many, byCount],
  ['names twice the pages, which show the first again', firstAgain, real, [ofDay(150), ofDay(250)], 40],
  ['always names page 29', naming(() => 29), real, many, byCount],
  ['always names page 30', (one) => one, moods(['fixed']), [99, 100].map((count) => spread(count, noon, 1)), 400],
  ['always names page 31', naming(() => 31), real, many, byCount],
  ['always names page 1', naming(() => 1), real, many, byCount],
  ['names another one each time', naming((_, number) => 1 + ((number * 7) % 30)), real, many, byCount],
  ['shows nine a page, and calls page 5 the last', cutting(9, 5), absent, [ofDay(450)], 1500],
  ['shows ten a page, and calls page 1 the last', cutting(10, 1), absent, [ofDay(450)], 350],
  ['shows ten a page, and calls page 28 the last', cutting(10, 28), absent, [ofDay(450)], 350],
  ['shows ten a page, and calls page 29 the last', cutting(10, 29), absent, [ofDay(450)], 350],
  ['shows three a page, and calls page 1 the last', cutting(3, 1), absent, [ofDay(450)], 1500],
  ['shows fifty a page, and calls page 5 the last', cutting(50, 5), absent, [ofDay(450)], 350],
  ['shows a hundred a page, and calls page 1 the last', cutting(100, 1), absent, [ofDay(450)], 350],
  ['shows the newest days of a long period', newestDays, real, ofSpan, 40],
  ['shows the first days of a long period', firstDays, real, ofSpan, 40],
  ['shows an empty list, and refuses its other end', emptyOnce, real, [ofDay(50)], 100],
  ['is always ascending, and fails behind the page named last', endingEarly, real, [ofSpanEvenly(1250)], 300],
  ['shows a review twice in two readings', twiceInTwoReadings, absent, [ofDay(150)], 100],
  ['dates a review far from its span', datedFarAway, real, [ofDay(500)], 20],
  ['shows two pages at most, others refused', twoPages('refused'), ofTwenty, ofTwoPages, 1300],
  ['shows two pages at most, others not found', twoPages('not found'), ofTwenty, ofTwoPages, 1300],
  ['shows two pages at most, others empty', twoPages('empty'), ofTwenty, ofTwoPages, 1300],
  ['shows two pages at most, others the last again', twoPages('the last again'), ofTwenty, ofTwoPages, 1300],
  ['shows two pages at most, others the first again', twoPages('the first again'), ofTwenty, ofTwoPages, 1650],
  ['shows two pages at most, and no descending order', onlyTwo, ofTwenty, [ofDay(30), ofDay(90)], 500],
])('all reviews are read of a service that %s', async (_, change, hows, lists, requests) => {
  for (const how of hows)
    for (const all of lists) {
      const most = typeof requests === 'number' ? requests : requests(all.length);
      await readsAll(change(listed(all, how), all, how), all, most, { ...how, count: all.length });
    }
});

test.each([
  [4, 20],
  [99, 60],
  [100, 60],
  [473, 600],
] as const)('%i reviews of one second are read that each list shows in another order', async (count, requests) => {
  const reviews = spread(count, noon, 1).map((one) => ({ ...one, createdMs: noon }));
  // Without a number of the last page, more than a page of them cannot be proven.
  for (const how of moods(count > 100 ? ['real'] : ['real', 'absent', 'not on the last'], behinds.slice(0, 2))) {
    await readsAll(listed(reviews, { ...how, ties: 'shuffled' }), reviews, requests, how);
  }
});

test.each([
  [450, 50, 40],
  [430, 30, 60],
  [2900, 30, 700],
  [150, 50, 25],
] as const)('%i reviews are read of which a page shows %i, and the next begins 100 further', async (...given) => {
  const [count, pageSize, requests] = given;
  for (const how of moods(['real', 'absent'], [{ ordered: true }, { ordered: false }])) {
    const service = listed(ofDay(count), { ...how, pageSize, leavesOut: true });
    await readsAll(service, ofDay(count), requests, how);
  }
});

test.each([
  ['refused', new RefusedError({ ...failure, status: 422 })],
  ['failed', new UnavailableError(failure)],
])('a review that pages leave out and that is %s is a gap', async (kind, error) => {
  const reviews = spread(120, noon, 1);
  const model = listed(reviews, { lastPage: 'real', pageSize: 50, leavesOut: true });
  const service = answering(model, ({ items }) => {
    if (items.some(({ id }) => id === reviews[70]?.id)) throw error;
    return {};
  });
  expect((await idsRead(service)).gaps).toMatchObject([{ kind }]);
});

test('page 29 is not taken for one behind the end if hidden reviews make it shorter', async () => {
  const reviews = ofSpanEvenly(3300);
  // A look at the days behind page 1 finds only the first review there, which is hidden, too.
  const hidden = reviews.filter((_, index) => index % 9 === 4 || index === 100 || index === 2850);
  const service = turning(hiding(listed(reviews, { lastPage: 'real' }), hidden), reviews, {});
  const shown = reviews.filter((review) => !hidden.includes(review));
  await readsAll(service, shown);
});

test('after years without reviews a list is still found out that shows the first days only', async () => {
  const lists = openLists(pLimit(8));
  for (let year = 1; year < 10; year += 1) await readsAll(listed([], { lastPage: 'real' }), [], 7, {}, { lists });
  for (const all of ofSpan)
    await readsAll(firstDays(listed(all, { lastPage: 'real' }), all, {}), all, 60, {}, { lists });
});

test('a list is not believed while another shows that pages leave reviews out', async () => {
  const how = { lastPage: 'real', pageSize: 50, ordered: false, leavesOut: true } as const;
  const lists = freshLists();
  const other = idsRead(listed(ofDay(450), how), { lists });
  const { page } = listed(ofDay(52), how);
  const late: Service = { page: (...request) => page(...request).then((answer) => other.then(() => answer)) };
  await readsAll(late, ofDay(52), undefined, {}, { lists });
});

test('a list that is empty above a limit of 50 is a gap, or is read in smaller pages', async () => {
  const shy = answering(listed(ofDay(450), { lastPage: 'real' }), (_, { params: { limit = 0 } }) =>
    limit > 50 ? none : {},
  );
  const { gaps, requests } = await idsRead(shy);
  expect(gaps).toMatchObject([{ kind: 'too-many' }]);
  expect(requests).toBeLessThan(1000);
  await readsAll(failing(shy, refusal, isDescending), ofDay(450));
});

test('a list of other dates, in place of more than 14 days, proves nothing', async () => {
  const reviews = spread(200, span.start * 1000, 20 * 86_400);
  const service = listed([...reviews, ...ofOtherDates], { lastPage: 'real' });
  const read = await idsRead(forgetting(otherDates, 14)(service, [], {}));
  expect(read).toMatchObject({ ids: expect.arrayContaining(idsOf(reviews)), reasons: [] });
});

test.each(['newest', 'oldest', 'first of the list'] as const)(
  'all reviews are read of a service that shows only the %s 300 of a period',
  async (which) => {
    for (const ordered of [true, false]) {
      const reviews = spread(1000, span.start * 1000, 20 * 86_400);
      const whole = listed(reviews, { lastPage: 'real', ordered });
      const capped: Service = {
        async page({ limit = 100, ...params }, page) {
          const pages = Array.from({ length: 10 }, (_, at) => whole.page({ ...params, limit: 100 }, at + 1));
          const items = (await Promise.all(pages)).flatMap((one) => one.items as Row[]);
          const byDate = which === 'first of the list' ? items : items.toSorted((a, b) => a.id - b.id);
          const kept = which === 'newest' ? byDate.slice(-300) : byDate.slice(0, 300);
          const all = items.filter((item) => kept.includes(item));
          return pageOf(all.slice((page - 1) * limit, page * limit), Math.ceil(all.length / limit));
        },
      };
      await readsAll(capped, reviews, 150, {}, { lists: openLists(pLimit(8)) });
    }
  },
);

test('a second whose list changes at each reading is not called too long', async () => {
  const changing = answering(listed(spread(250, noon, 1), { ordered: false }), ({ items }, { number }) => ({
    items: items.filter(({ id }) => id % 9 !== number % 9),
  }));
  const { gaps } = await idsRead(changing);
  const reason = expect.stringContaining('nothing proves that the 250 reviews that were read are all');
  expect(gaps).toMatchObject([{ kind: 'unproven', reason }]);
});

test.each(['refuses', 'fails on', 'shows nothing for'])(
  'a service that %s dates ahead of its clock is read up to now',
  async (how) => {
    const now = new Date('2026-11-01T00:00:00Z');
    const early = answering(listed(ofDay(450), { zone: 'UTC', lastPage: 'real' }), (_, { params }) => {
      const isAhead = utc(params.end_datetime) > now.getTime();
      if (isAhead && how === 'refuses') throw refusal;
      if (isAhead && how === 'fails on') throw new UnavailableError(failure);
      return isAhead ? { ...none, lastPage: 1 } : {};
    });
    const plausible = { ...usual.plausible, end: now.getTime() / 1000 + 86_400 };
    await readsAll(early, ofDay(450), 15, {}, { timeZone: 'UTC', now, plausible });
  },
);

test('a zone that is an hour wrong does not make a list be read second by second', async () => {
  const service = listed(spread(5000, at('2026-10-28T00:00:00Z'), 86_400), { zone: 'Asia/Seoul', lastPage: 'real' });
  const { requests } = await idsRead(service, { timeZone: 'Asia/Shanghai' });
  expect(requests).toBeLessThan(120);
});

test('one page of an unsorted list costs a bounded number of requests', async () => {
  const reviews = spread(3100, noon, 60);
  const service = listed(reviews, { lastPage: 'absent', pageSize: 30, ordered: false, ties: 'shuffled' });
  const read = await idsRead(page1(service, [], {}));
  if (read.ids.length < reviews.length) expect(read.gaps).not.toEqual([]);
  // Requests under way when the requests are spent come to their end.
  expect(read.requests).toBeLessThan(500 + 2 * reviews.length + 2000);
});

/** The service, which takes the hidden reviews off the pages that it has cut. */
function hiding(service: Service, hidden: readonly ModelReview[]): Service {
  const ids = new Set(idsOf(hidden));
  return answering(service, ({ items }) => ({ items: items.filter(({ id }) => !ids.has(id)) }));
}

test.each(['real', 'capped', 'absent'] as const)(
  'reviews of a second whose product no page names leave a gap (Link %s)',
  async (lastPage) => {
    const start = noon / 1000;
    const product = (index: number) => ({ score: 5, productId: index === 3050 ? 9 : 1 + (index % 5) });
    const reviews = spread(6100, start * 1000, 1).map((review, index) => ({ ...review, ...product(index) }));
    const read = await idsRead(listed(reviews, { lastPage }));
    expect(idsOf(reviews).filter((id) => !read.ids.includes(id))).toEqual([reviews[3050]?.id]);
    // A request for the second before shows them, too.
    expect(read.gaps).toMatchObject([{ kind: 'too-many', span: { start: start - 1, end: start + 1 } }]);
  },
);

test('a crowded second of a service that ignores score and product costs few requests', async () => {
  const crowd = spread(3500, noon, 1).map((review, index) => ({ ...review, productId: 1 + (index % 300) }));
  const whole = { score: undefined, product_id: undefined };
  for (const lastPage of ['real', 'absent', 'fixed'] as const) {
    const read = await idsRead(asking(listed(crowd, { lastPage }), (params, page) => [{ ...params, ...whole }, page]));
    expect(read).toMatchObject({ gaps: [{ kind: 'too-many' }] });
    expect([lastPage, read.requests]).toEqual([lastPage, Math.min(read.requests, 1500)]);
  }
});

test.each(['real', 'capped', 'absent'] as const)(
  'a review of a crowded second with an odd score is read, or a gap (Link %s)',
  async (lastPage) => {
    const start = noon / 1000;
    // Thirty of its pages show 300 reviews.
    for (const place of [1, 295, 304, 500]) {
      const score = (index: number) => ({ score: index === place ? 9 : (index % 5) + 1 });
      const reviews = spread(place + 5, start * 1000, 1).map((review, index) => ({ ...review, ...score(index) }));
      for (const more of [[], spread(305, start * 1000, 1).slice(reviews.length)]) {
        const all = [...reviews, ...more.map((review) => ({ ...review, score: 5 }))];
        const read = await idsRead(listed(all, { lastPage, pageSize: 10 }));
        if (read.gaps.length === 0) expect([place, read.ids]).toEqual([place, idsOf(all)]);
      }
    }
  },
);

test.each([
  ['a page and a bit', 194, 305],
  ['a page', 200, 300],
  ['two pages', 200, 400],
  ['the end of one page and the next', 150, 300],
  ['the first page', 0, 100],
  ['the last page that may be asked for', 2900, 3000],
] as const)('%s of hidden reviews, without Link or with half of the pages, hide no others', async (_, from, to) => {
  for (const lastPage of ['absent', 'cached'] as const) {
    for (const count of [450, to + 1, to, 2850]) {
      const service = hiding(listed(ofDay(count), { lastPage }), ofDay(count).slice(from, to));
      // It is read twice, and looked at from its other end and behind it.
      const requests = count < 1000 ? 120 : undefined;
      await readsAll(service, ofDay(count).toSpliced(from, to - from), requests, { lastPage, count });
    }
  }
});

test('a deletion while a list is read makes up for no review that its pages leave out', async () => {
  const reviews = ofDay(250);
  for (const from of [2, 4, 6, 9, 12]) {
    let number = 0;
    const model = listed(() => (number < from ? reviews : reviews.slice(0, 249)), { lastPage: 'real' });
    // The border of two pages lies between reviews whose order differs by page: one is on both, one on none.
    const service = answering(model, ({ items }, { page }) => {
      number += 1;
      const twice = items.map((item) => (item.id === reviews[100]?.id ? { ...item, ...otherId } : item));
      return page === 2 ? { items: twice } : {};
    });
    const otherId = { id: reviews[99]?.id };
    const read = await idsRead(service);
    const isRead = read.ids.includes(reviews[100]?.id ?? 0);
    expect({ from, isRead: isRead || read.gaps.length > 0 }).toEqual({ from, isRead: true });
  }
});

test('readings that are cut off at reviews of the second behind the span prove nothing', async () => {
  const atEnd = [98, 99];
  const reviews = ofDay(300).map((one, index) => ({
    ...one,
    createdMs: atEnd.includes(index) ? span.end * 1000 : one.createdMs,
  }));
  // The service shows page 1 only, in the order of ids, and names more pages.
  const all = listed(reviews, { lastPage: 'real' });
  const service: Service = {
    async page({ limit = 100, ...params }, page) {
      const pages = [1, 2, 3].map((at) => all.page({ ...params, date_order_desc: false } as Params, at));
      const items = (await Promise.all(pages)).flatMap((one) => one.items as Row[]).sort((a, b) => a.id - b.id);
      return pageOf(page === 1 ? items.slice(0, limit) : [], Math.ceil(items.length / limit));
    },
  };
  expect((await readSpan(depsOf(service), 'created', { span }, async () => true)).kind).not.toBe('proven');
});

test('a page that the service names and always refuses is a gap, also if its readings count the same', async () => {
  const reviews = spread(170, noon, 2);
  const service = cutting(50, 4)(listed(reviews), reviews, {});
  const refused: Service = {
    page: async (params, page) => {
      if (page > 2 || isDescending(params)) throw refusal;
      return service.page(params, page);
    },
  };
  expect((await idsRead(refused)).gaps).not.toEqual([]);
});

/** The service, which shows nothing on this page of a hundred for so many times. */
function emptyFor(service: Service, empty: number, times: number): Service {
  let left = times;
  return answering(service, (_, { params, page }) => {
    if (page !== empty || params.limit !== 100 || left === 0) return {};
    left -= 1;
    return none;
  });
}

test.each(['real', 'capped', 'absent', 'fixed', 'not on the last'] as const)(
  'a page that is empty some times in a row is read when it is shown (Link %s)',
  async (lastPage) => {
    for (const count of [90, 450]) {
      const reviews = ofDay(count);
      for (let empty = 1; empty <= Math.ceil(count / 100); empty += 1) {
        for (const times of [1, 2, 3]) {
          const what = { count, empty, times };
          await readsAll(emptyFor(listed(reviews, { lastPage }), empty, times), reviews, undefined, what);
        }
      }
    }
  },
);

test('a record without an id whose link is signed again is no change of its list', async () => {
  const reviews = ofDay(250);
  for (const lastPage of ['real', 'absent'] as const) {
    const service = answering(listed(reviews, { lastPage }), ({ items }, { number }) => ({
      items: items.map((item) =>
        item.id === reviews[249]?.id ? { ...item, id: null, url: `https://v.example.com/?s=${number}` } : item,
      ),
    }));
    const read = await idsRead(service);
    expect(read).toMatchObject({ ids: expect.arrayContaining(idsOf(reviews.slice(0, 249))), reasons: [] });
    expect(read.requests).toBeLessThan(15);
  }
});

/** The service, which answers with the error to every list whose period holds a second of [from, to). */
const failingFor = (service: Service, [from, to]: [string, string], error: Error) =>
  failing(service, error, (params) => utc(params.start_datetime) < at(to) && utc(params.end_datetime) >= at(from));

test.each([
  ['responds with 500 for a second', new UnavailableError(failure), 1],
  ['responds with 429 for a second', new LimitedError({ ...failure, status: 429 }), 1],
  ['responds with 500 for three days', new UnavailableError(failure), 3 * 86_400],
  ['breaks the connection for a second', new UnavailableError(noResponse), 1],
])('a service that %s leaves a gap of little more than that', async (_, error, seconds) => {
  const [from, to] = [new Date(noon).toISOString(), new Date(noon + seconds * 1000).toISOString()];
  const reviews = spread(1500, at('2026-10-20T00:00:00Z'), 20 * 86_400);
  const service = failingFor(listed(reviews, { zone: 'UTC', lastPage: 'real' }), [from, to], error);
  const read = await idsRead(service, utcZone);
  const missing = reviews.filter(({ id }) => !read.ids.includes(id));
  for (const { createdMs } of missing) {
    expect(createdMs).toBeGreaterThanOrEqual(at(from) - 86_400_000);
    expect(createdMs).toBeLessThan(at(to) + 86_400_000);
  }
  expect(read.gaps).toMatchObject([{ kind: 'failed', reason: expect.stringContaining(error.message) }]);
  const unread = read.gaps.reduce((sum, gap) => sum + gap.span.end - gap.span.start, 0);
  expect(unread).toBeLessThan(seconds * 1.5 + 60);
  expect(read.requests).toBeLessThan(160);
});

const middle = '2026-10-30T12:00:00Z';
const [start, end] = ['2026-10-20T00:00:00Z', '2026-11-10T00:00:00Z'];
const [forbidden, fault] = [new RefusedError({ ...failure, status: 403 }), new UnavailableError(failure)];
const empty = listed([], { zone: 'UTC' });
const others = listed(spread(5000, at('2026-10-01T00:00:00Z'), 86_400), { lastPage: 'real' });
const gapOf = (kind: string, reason: string, from = start, to = end) => {
  const span = { start: at(from) / 1000, end: at(to) / 1000 };
  return { kind, reason: expect.stringContaining(reason), span };
};

test.each<[string, Service, gaps: object[], requests: number | readonly [0, most: number], Reading?]>([
  // Each failure is followed by a request that succeeds: the service is not down.
  ['fails on all of what is left', failingFor(empty, [start, end], fault), [gapOf('failed', '500')], 98],
  [
    'fails on all by update',
    failing(empty, fault, (one) => one.date_updated_at),
    [gapOf('failed', '500')],
    98,
    byUpdate,
  ],
  [
    'never responds by update',
    failing(empty, new UnavailableError(noResponse), passesMinute),
    [gapOf('failed', 'connection broke')],
    [0, 16],
    { ...byUpdate, now: clock },
  ],
  ['refuses everything', failing(empty, forbidden, () => true), [gapOf('refused', '403')], 49],
  [
    'refuses one half, and fails on the other',
    failingFor(failingFor(empty, [middle, end], fault), [start, middle], forbidden),
    [gapOf('refused', forbidden.message, start, middle), gapOf('failed', fault.message, middle, end)],
    [0, 150],
  ],
  [
    'ignores the period, and shows another one',
    forgetting(otherDates, 0)(listed(ofOtherDates, { lastPage: 'real' }), [], {}),
    [gapOf('unproven', 'of other dates')],
    [0, 499],
  ],
  ['ignores period and limit', asking(others, (_, page) => [always, page]), [gapOf('failed', '')], [0, 299]],
])('a service that %s leaves gaps with their reasons, soon', async (_, service, gaps, requests, how = utcZone) => {
  const read = await idsRead(service, how);
  expect(read.gaps).toMatchObject(gaps);
  if (typeof requests === 'number') expect(read.requests).toBe(requests);
  else expect(read.requests).toBeLessThanOrEqual(requests[1]);
});

test.each([
  // Undefined: the list that shows that the service is not down.
  ['fails on are given up after 0.5 s', fault, [8000, undefined, 500]],
  ['refuses are given up after 8 s', forbidden, [8000]],
])('halves of a list that the service %s', async (_, error, expected) => {
  const service = failingFor(empty, [start, end], error);
  const giveUpAfterMs = new Set<unknown>();
  const page: Service['page'] = (params, number, options) => {
    giveUpAfterMs.add(options?.giveUpAfterMs);
    return service.page(params, number);
  };
  await idsRead({ page }, utcZone);
  expect([...giveUpAfterMs]).toEqual(expected);
});

test('the newest date of lists that never respond is asked for once', async () => {
  const page = vi.fn(failing(empty, new UnavailableError(noResponse), passesMinute).page);
  expect(await newestOf(depsOf({ page }, { ...utcZone, now: clock }), 'updated', span)).toBe(undefined);
  // Another list shows that the service is not down.
  expect(page).toHaveBeenCalledTimes(2);
});

test.each([
  new UnavailableError(failure),
  new UnavailableError(noResponse),
  new LimitedError({ ...failure, status: 429 }),
])('a service that fails on everything (status $status) is down, and leaves no gaps', async (error) => {
  const page = vi.fn(() => Promise.reject(error));
  await expect(idsRead({ page })).rejects.toBe(error);
  expect(page.mock.calls.length).toBeLessThan(20);
});

test('a list of a round number of reviews is read in parts, unless one was longer', async () => {
  const requestsAfter = async (before: number) => {
    const lists = openLists(pLimit(8));
    await idsRead(listed(ofDay(before)), { lists });
    return (await idsRead(listed(ofDay(40)), { lists })).requests;
  };
  expect(await requestsAfter(41)).toBeLessThan(await requestsAfter(39));
});

test('ten reviews of one second are read, though no second can be cut', async () => {
  await readsAll(listed(spread(10, noon, 1)), spread(10, noon, 1), 70, {}, { lists: openLists(pLimit(8)) });
});

test('a span is proven when its last page has landed, too', async () => {
  const deps = depsOf(listed(ofDay(250)));
  let landing = 0;
  const land = async () => {
    landing += 1;
    await new Promise((resolve) => setImmediate(resolve));
    landing -= 1;
  };
  expect(await readSpan(deps, 'created', { span }, land)).toMatchObject({ kind: 'proven', reviews: 250 });
  expect(landing).toBe(0);
});
