import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  desiredOrder,
  fieldsToClear,
  isUnchanged,
  requestBody,
  sentFieldsAfter,
} from '../../src/orders/order/desired-order.ts';
import { fingerprint } from '../../src/orders/order/fingerprint.ts';
import { optionalFields } from '../../src/orders/order/order-body.ts';
import { type PreparedOrder, prepareOrder } from '../../src/orders/order/prepare-order.ts';
import { areSameOptions, isSamePrice, isSameSecond, likeness } from '../../src/orders/order/same-content.ts';
import { retryDelayMs } from '../../src/orders/push/retry-delay.ts';
import type { SubOrder } from '../../src/review-api/index.ts';
import type { OrderLink } from '../../src/warehouse/orders/order-links.ts';

const row = {
  code: 'A',
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00.000001Z',
  total_price: '10',
};
const line = (lineCode: string | null, more: Record<string, string | null> = {}) => ({
  order_code: 'A',
  line_code: lineCode,
  product_id: '7',
  price: '5',
  ...more,
});
const prepared = (order: Record<string, string | null> = {}, lines = [line('1')]) =>
  prepareOrder({ order: { ...row, ...order }, lines }, new Map()) as PreparedOrder;

describe('prepareOrder', () => {
  test('each line is pushed, waits or is faulty, and no two dead letters have the same key', () => {
    const anyLine = fc.record({
      lineCode: fc.constantFrom('1', '2', '', null),
      more: fc.constantFrom({}, { product_id: null, product_code: 'P' }, { product_id: null }, { price: 'much' }),
    });
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 8 }), (lines) => {
        const raws = lines.map(({ lineCode, more }) => line(lineCode, more));
        const { lines: pushed, waiting, faulty } = prepared({}, raws);
        expect(pushed.length + waiting.length + faulty.length).toBe(lines.length);
        const codes = [...pushed, ...waiting, ...faulty].map((one) => one.lineCode);
        expect(new Set(codes).size).toBe(codes.length);
        expect(new Set(faulty.map((one) => one.key)).size).toBe(faulty.length);
      }),
    );
  });

  test('of two lines with one code the same one is pushed, whatever order they come in', () => {
    const [one, two] = [line('1', { price: '5' }), line('1', { price: '6' })];
    expect(prepared({}, [one, two]).lines).toEqual(prepared({}, [two, one]).lines);
  });

  test('an order that cannot be read is a dead letter under its code, or under a hash where it has none', () => {
    expect(prepareOrder({ order: { ...row, total_price: null }, lines: [] }, new Map())).toMatchObject({ key: 'A' });
    expect(prepareOrder({ order: { ...row, code: ' ' }, lines: [] }, new Map())).toMatchObject({
      key: expect.stringMatching(/^sha256:/),
      order_code: undefined,
    });
  });
});

describe('fingerprint', () => {
  test('it is the same for the same values in any order of keys, and different for different values', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        expect(fingerprint(reversed)).toBe(fingerprint(value));
        expect(fingerprint({ ...value, added: 1 })).not.toBe(fingerprint({ ...value, added: 2 }));
      }),
    );
  });

  test('it changes with every field of the order, with every line, and with lines that wait or are faulty', () => {
    const prints = [
      prepared(),
      prepared({ total_price: '11' }),
      prepared({ user_email: 'a@example.com' }),
      prepared({ user_phone: '010' }),
      prepared({ store_name: 'S' }),
      prepared({}, [line('1', { status: 'paid' })]),
      prepared({}, [line('1', { product_options: '{"size":"S"}' })]),
      prepared({}, [line('1'), line('2')]),
      prepared({}, [line('1'), line('2', { product_id: null, product_code: 'P' })]),
      prepared({}, [line('1'), line('2', { price: 'much' })]),
    ].map((one) => desiredOrder(one, new Map()).fingerprint);
    expect(new Set(prints).size).toBe(prints.length);
    const withGrade = prepared({ user_grade_code: 'gold' });
    expect(desiredOrder(withGrade, new Map([['gold', 1]])).fingerprint).not.toBe(
      desiredOrder(withGrade, new Map()).fingerprint,
    );
  });
});

describe('desiredOrder', () => {
  const link = (more: Partial<OrderLink>): OrderLink => ({
    orderCode: 'A',
    orderId: 1,
    fingerprint: null,
    failures: 0,
    contactHash: null,
    contactSent: false,
    sentFields: [],
    unseen: [],
    pushedAt: new Date(),
    firstPushedAt: new Date(),
    failedPushes: 0,
    isRetryDue: false,
    removalsWanted: 0,
    removalsHeld: false,
    areLinesUnsure: false,
    userGradeCode: null,
    ...more,
  });

  test('an order whose contact was withheld is unchanged for the regular sync, and changed for --with-email', () => {
    const desired = desiredOrder(prepared({ user_email: 'a@example.com' }), new Map());
    const pushed = link({ fingerprint: desired.fingerprint, contactHash: desired.contactHash });
    expect(isUnchanged(desired, pushed, { contact: 'young', removals: 'usual' })).toBe(true);
    expect(isUnchanged(desired, pushed, { contact: 'always', removals: 'usual' })).toBe(false);
    expect(isUnchanged(desired, { ...pushed, contactSent: true }, { contact: 'always', removals: 'usual' })).toBe(true);
    expect(isUnchanged(desired, { ...pushed, failures: 1 }, { contact: 'young', removals: 'all' })).toBe(false);
  });

  test('an order whose last push failed is unchanged until its next attempt is due', () => {
    const desired = desiredOrder(prepared(), new Map());
    const pushed = link({ fingerprint: desired.fingerprint, failures: 1, failedPushes: 1 });
    expect(isUnchanged(desired, pushed, { contact: 'young', removals: 'usual' })).toBe(true);
    expect(isUnchanged(desired, { ...pushed, isRetryDue: true }, { contact: 'young', removals: 'usual' })).toBe(false);
  });

  test('an order whose unlinked member grade changes is pushed once, so that it is known what it waits for', () => {
    const desired = desiredOrder(prepared({ user_grade_code: 'gold' }), new Map([['silver', 1]]));
    const pushed = link({
      fingerprint: desired.fingerprint,
      contactHash: desired.contactHash,
      userGradeCode: 'silver',
    });
    expect(isUnchanged(desired, pushed, { contact: 'young', removals: 'usual' })).toBe(false);
    expect(isUnchanged(desired, { ...pushed, userGradeCode: null }, { contact: 'young', removals: 'usual' })).toBe(
      false,
    );
    expect(isUnchanged(desired, { ...pushed, userGradeCode: 'gold' }, { contact: 'young', removals: 'usual' })).toBe(
      true,
    );
  });

  test('an order that the shop deleted is not the one that was pushed', () => {
    const deleted = desiredOrder(prepared({ deleted_at: '2026-01-02T00:00:00Z' }), new Map());
    expect(deleted.fingerprint).not.toBe(desiredOrder(prepared(), new Map()).fingerprint);
  });

  test('a body without contact has neither e-mail nor phone, and a cleared field goes as an empty value', () => {
    const desired = desiredOrder(prepared({ user_email: 'a@example.com', user_phone: '010' }), new Map());
    const body = requestBody(desired, { contact: [], clear: ['mileage'] });
    expect(body).not.toHaveProperty('user_email');
    expect(body).not.toHaveProperty('user_phone');
    expect(body.mileage).toBeNull();
  });

  test('each field that was sent and is empty now is cleared, once', () => {
    const desired = desiredOrder(prepared(), new Map());
    const clear = fieldsToClear(desired, optionalFields);
    expect(clear).toEqual([...optionalFields]);
    expect(
      sentFieldsAfter(optionalFields, requestBody(desired, { contact: ['user_email', 'user_phone'], clear })),
    ).toEqual([]);
  });

  test('a grade that is not linked yet is not cleared', () => {
    expect(fieldsToClear(desiredOrder(prepared({ user_grade_code: 'gold' }), new Map()), ['user_grade_id'])).toEqual(
      [],
    );
  });
});

describe('retryDelayMs', () => {
  const minutes = (kind: 'transient' | 'permanent', failedPushes: number) => retryDelayMs(kind, failedPushes) / 60_000;

  test('a transient failure is tried again by the next run, then with twice the distance each time, up to a day', () => {
    expect([1, 2, 3, 4, 8, 9, 10, 100].map((failed) => minutes('transient', failed))).toEqual([
      0, 10, 20, 40, 640, 1280, 1440, 1440,
    ]);
  });

  test('a refusal is tried again after a day', () => {
    expect([1, 2, 50].map((failed) => minutes('permanent', failed))).toEqual([1440, 1440, 1440]);
  });
});

describe('likeness', () => {
  const theirs = (more: Partial<SubOrder>): SubOrder => ({
    id: 1,
    product_id: 7,
    product_options: {},
    price: { cents: 500, currency_iso: 'KRW' },
    status: null,
    delivery_started_at: null,
    delivered_at: null,
    invoice: null,
    delivery_service: null,
    created_at: null,
    updated_at: null,
    reviews_count: 0,
    ...more,
  });
  const ours = { product_id: 7, price: '5', product_options: {} };

  test('the product alone is never enough', () => {
    expect(likeness(theirs({}), ours)).toBe('exact');
    expect(likeness(theirs({ product_options: { size: 'S' } }), ours)).toBe('similar');
    expect(likeness(theirs({ price: { cents: 1, currency_iso: 'KRW' } }), ours)).toBe('similar');
    expect(likeness(theirs({ price: null, product_options: { size: 'S' } }), ours)).toBe('different');
    expect(likeness(theirs({ product_id: 8 }), ours)).toBe('different');
  });

  test('a price agrees in hundredths and in whole units, and differs by a cent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (cents) => {
        const text = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
        expect(isSamePrice({ cents, currency_iso: 'EUR' }, text)).toBe(true);
        expect(isSamePrice({ cents: cents * 7 + 201, currency_iso: 'EUR' }, text)).toBe(false);
        expect(isSamePrice({ cents, currency_iso: 'KRW' }, String(cents))).toBe(true);
      }),
    );
  });

  test('options may be reordered and trimmed, dates differ by less than a second', () => {
    expect(areSameOptions({ b: ' 2', a: '1' }, { a: '1 ', b: '2' })).toBe(true);
    expect(areSameOptions({ a: '1' }, {})).toBe(false);
    expect(isSameSecond('2026-01-01T09:00:00.900+09:00', '2026-01-01T00:00:00Z')).toBe(true);
    expect(isSameSecond(null, undefined)).toBe(true);
    expect(isSameSecond(null, '2026-01-01T00:00:00Z')).toBe(false);
  });
});
