import { expect, test } from 'vitest';
import { openLanes } from '../../src/lanes.ts';
import { RefusedError } from '../../src/review-api/index.ts';
import { readSpan } from '../../src/reviews/read-span.ts';
import type { ReadDeps } from '../../src/reviews/span-run.ts';
import { windowLimits } from '../../src/reviews/window.ts';
import { listModel, type ModelReview, type Mood } from '../harness/list-model.ts';

type Service = ReadDeps['reviews'];

const mood: Mood = {
  ...{ zone: 'America/New_York', lastPage: 'absent', pageSize: 100, end: 'second', ties: 'mirrored' },
  ...{ ambiguous: 'second', ordered: true },
} as const;
const at = (text: string) => Date.parse(text);
const span = { start: at('2026-10-20T00:00:00Z') / 1000, end: at('2026-11-10T00:00:00Z') / 1000 };

/** So many reviews, evenly spread over as many seconds from `from`. */
const spread = (count: number, from: number, seconds: number): ModelReview[] =>
  Array.from({ length: count }, (_, index) => from + Math.floor((index * seconds * 1000) / count)).map((ms, index) => ({
    ...{
      id: Math.floor(from / 1000) + index,
      createdMs: ms,
      updatedMs: ms,
      score: 1 + (index % 5),
      productId: index % 9,
    },
  }));
const listed = (reviews: readonly ModelReview[], how: Partial<Mood> = {}): Service =>
  listModel(() => reviews, { ...mood, ...how }, { ...windowLimits, days: 45 }, Math.random);

async function idsRead(
  service: Service,
  timeZone = mood.zone,
): Promise<{ ids: number[]; told: string[]; requests: number }> {
  const ids = new Set<number>();
  let requests = 0;
  const reviews: Service = {
    page(params, page) {
      requests += 1;
      return service.page(params, page);
    },
  };
  const deps = { reviews, timeZone, signal: new AbortController().signal, lanes: openLanes(8) };
  const told = await readSpan(
    deps,
    { axis: 'created', span },
    {
      async land({ pages }) {
        for (const page of pages) for (const id of page.ids) ids.add(Number(id));
      },
      revoke: async () => {},
    },
  );
  return { ids: [...ids].sort((a, b) => a - b), told, requests };
}

const idsOf = (reviews: readonly ModelReview[]) => reviews.map((review) => review.id).sort((a, b) => a - b);

test('3,500 reviews in the hour that comes twice cost no request for each of its seconds', async () => {
  const reviews = [
    ...spread(3500, at('2026-11-01T05:00:00Z'), 7200),
    ...spread(150, at('2026-10-25T00:00:00Z'), 86_400),
  ];
  for (const lastPage of ['real', 'capped', 'absent'] as const) {
    const read = await idsRead(listed(reviews, { lastPage }));
    expect(read).toMatchObject({ ids: idsOf(reviews), told: [] });
    expect(read.requests).toBeLessThan(300);
  }
});

const crowd = spread(300, at('2026-10-28T12:00:00Z'), 1);
const crowded = [...spread(250, at('2026-10-22T00:00:00Z'), 400_000), ...crowd];

test('a service that repeats its last page for every page behind it costs a few requests more', async () => {
  const service = listed(crowded);
  const { page: pageOf } = service;
  service.page = async (params, page) => {
    for (let number = page; ; number -= 1) {
      const answer = await pageOf(params, number);
      if (answer.items.length > 0 || number === 1) return answer;
    }
  };
  const read = await idsRead(service);
  expect(read).toMatchObject({ ids: idsOf(crowded), told: [] });
  expect(read.requests).toBeLessThan(40);
});

test('a service that refuses the pages behind its last has shown all', async () => {
  const service = listed(crowded.slice(0, -30));
  const { page: pageOf } = service;
  service.page = async (params, page) => {
    const answer = await pageOf(params, page);
    if (answer.items.length > 0 || page === 1) return answer;
    throw new RefusedError({ method: 'GET', path: '/v1/reviews', status: 422, words: 'no such page' });
  };
  expect(await idsRead(service)).toMatchObject({ ids: idsOf(crowded.slice(0, -30)), told: [] });
});

test('pages that became short because hidden reviews were taken off them are not the end', async () => {
  const isHidden = (id: unknown) => Number(id) % 100 > 80 && Number(id) % 300 > 100;
  const service = listed(crowded);
  const { page: pageOf } = service;
  service.page = async (params, page) => {
    const answer = await pageOf(params, page);
    const items = answer.items.filter((item) => !isHidden((item as { id: number }).id));
    return { ...answer, items, rawBody: Buffer.from(JSON.stringify(items)) };
  };
  const shown = crowded.filter((review) => !isHidden(review.id));
  expect(await idsRead(service)).toMatchObject({ ids: idsOf(shown), told: [] });
});

test('a list that is empty for one request is not the end of the data', async () => {
  for (const lastPage of ['real', 'capped', 'absent'] as const) {
    for (let empty = 1; empty <= 9; empty += 1) {
      const service = listed(crowded, { lastPage });
      const { page: pageOf } = service;
      let number = 0;
      service.page = async (params, page) => {
        number += 1;
        const answer = await pageOf(params, page);
        const told = lastPage === 'absent' ? undefined : 1;
        return number === empty ? { ...answer, items: [], rawBody: Buffer.from('[]'), lastPage: told } : answer;
      };
      expect({ lastPage, empty, ...(await idsRead(service)) }).toMatchObject({ ids: idsOf(crowded), told: [] });
    }
  }
});

test('reviews with a score that no filter knows, behind page 30 of a crowded second, are told', async () => {
  const reviews = spread(3200, at('2026-10-28T12:00:00Z'), 1).map((review, index) => ({
    ...review,
    score: index < 3000 ? review.score : 9,
  }));
  const { ids, told } = await idsRead(listed(reviews, { lastPage: 'capped' }));
  expect(ids).toEqual(idsOf(reviews));
  expect(told).toMatchObject([expect.stringContaining('2026-10-28T12:00:00')]);
});

test('a zone that is an hour wrong is told after a few requests, not read second by second', async () => {
  const service = listed(spread(5000, at('2026-10-28T00:00:00Z'), 86_400), { zone: 'Asia/Seoul', lastPage: 'real' });
  const { told, requests } = await idsRead(service, 'Asia/Shanghai');
  expect(told).toEqual([expect.stringContaining('REVIEW_API_TIME_ZONE, Asia/Shanghai')]);
  expect(requests).toBeLessThan(100);
});
