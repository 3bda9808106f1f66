import { expect, test } from 'vitest';
import { LimitedError, MalformedResponseError, UnavailableError } from '../../src/review-api/index.ts';
import { type Postponed, settleOutcomes } from '../../src/webhooks/settle-outcomes.ts';

const at = (status?: number) => ({ method: 'GET', path: '/v1/reviews/1', status });
const event = (id: number, error: Postponed['error'], isServiceUp = true): Postponed => ({
  id,
  error,
  isServiceUp,
  event: { kind: 'review', brandId: 1, id, updatedAt: new Date('2026-01-01T00:00:00Z'), precise: false },
});
const receivedAt = new Date('2026-01-02T00:00:00Z');
const settle = (postponed: Postponed[], attempts: number) => settleOutcomes(postponed, { attempts, receivedAt });

test('events wait together, and never become dead letters, while the service does not respond or is busy', () => {
  const outage = [
    event(1, new UnavailableError(at()), false),
    event(2, new UnavailableError(at(500)), false),
    event(3, new LimitedError(at(429))),
  ];
  const { deadLetters, leftovers } = settle(outage, 99);
  expect(deadLetters).toEqual([]);
  expect(leftovers).toHaveLength(1);
  expect(leftovers[0]).toMatchObject({ seconds: 600, attempts: 9, brandIds: [1], receivedAt });
  expect(JSON.parse(leftovers[0]?.body ?? '')[1]).toEqual({
    brand_id: 1,
    reviews: [{ id: 2, updated_at: '2026-01-01T00:00:00Z' }],
  });
});

test('a record on which the service fails waits by itself, and becomes one dead letter under its id', () => {
  const failing = [event(1, new MalformedResponseError(at(200))), event(2, new UnavailableError(at()))];
  expect(settle(failing, 3)).toMatchObject({
    deadLetters: [],
    leftovers: [{ seconds: 8, attempts: 3 }, { attempts: 3 }],
  });
  expect(settle(failing, 20)).toMatchObject({
    deadLetters: [
      { kind: 'review', key: '1' },
      { kind: 'review', key: '2' },
    ],
    leftovers: [],
  });
});

test('many records that fail at once are an outage', () => {
  const failing = Array.from({ length: 12 }, (_, id) => event(id + 1, new UnavailableError(at(500))));
  expect(settle(failing, 99)).toMatchObject({ deadLetters: [], leftovers: [{ attempts: 9 }] });
});
