import { describe, expect, test } from 'vitest';
import {
  compareOrder,
  type FieldComparison,
  isDifferent,
  notComparable,
  withoutPersonalData,
} from '../../src/orders/compare/compare-order.ts';
import { desiredOrder } from '../../src/orders/order/desired-order.ts';
import type { LineLink } from '../../src/orders/order/match-sub-orders.ts';
import { type PreparedOrder, prepareOrder } from '../../src/orders/order/prepare-order.ts';
import type { OrderDetail, SubOrder } from '../../src/review-api/index.ts';
import type { RawRow } from '../../src/shop/rows.ts';

const orderRow = {
  code: 'A',
  created_at: '2026-11-01T10:00:00.500000Z',
  updated_at: '2026-11-01T10:00:00.500000Z',
  total_price: '12.50',
  user_code: 'kim',
  user_email: 'kim@example.com',
};
const lineRow = {
  order_code: 'A',
  line_code: '1',
  product_id: '7',
  price: '12.50',
  status: 'paid',
  product_options: '{"size":"S"}',
};

/** An order of the shop with one line. */
function ofShop(order: RawRow = {}, lines: readonly RawRow[] = [{}], gradeIds = new Map<string, number>()) {
  const rows = lines.map((line) => ({ ...lineRow, ...line }));
  return desiredOrder(
    prepareOrder({ order: { ...orderRow, ...order }, lines: rows }, new Map()) as PreparedOrder,
    gradeIds,
  );
}

const subOrder = (more: Partial<SubOrder> = {}): SubOrder => ({
  id: 11,
  product_id: 7,
  product_options: { size: 'S' },
  price: { cents: 1250, currency_iso: 'EUR' },
  status: 'paid',
  delivery_started_at: null,
  delivered_at: null,
  invoice: null,
  delivery_service: '',
  created_at: null,
  updated_at: null,
  reviews_count: 0,
  ...more,
});

/** The same order as the service shows it. */
const atService = (more: Partial<OrderDetail> & Record<string, unknown> = {}): OrderDetail => ({
  id: 1,
  code: 'A',
  user_code: 'kim',
  user_email: 'kim@example.com',
  username: null,
  phone: null,
  total_price: { cents: 1250, currency_iso: 'EUR' },
  sub_orders: [subOrder()],
  created_at: '2026-11-01T19:00:00.000+09:00',
  updated_at: null,
  ...more,
});

const link = (lineCode: string, subOrderId: number, more: Partial<LineLink> = {}): LineLink => ({
  lineCode,
  subOrderId,
  content: { product_id: 7, price: '12.50', status: 'paid', product_options: { size: 'S' } },
  idsBefore: [],
  ...more,
});

const sent = { links: [], withheld: [] };
const outcomes = (fields: readonly FieldComparison[]) =>
  Object.fromEntries(fields.filter((one) => one.outcome !== 'equal').map((one) => [one.field, one.outcome]));

describe('the order itself', () => {
  test('what both ends show alike is equal, and what the service does not show is not comparable', () => {
    const compared = compareOrder(ofShop(), atService(), sent);
    expect(outcomes(compared.fields)).toEqual({
      user_grade_id: 'not comparable',
      store_name: 'not comparable',
      order_device: 'not comparable',
      mileage: 'not comparable',
    });
    expect(isDifferent(compared)).toBe(false);
    expect(notComparable(compared).map((one) => one.field)).toEqual([
      'user_grade_id',
      'store_name',
      'order_device',
      'mileage',
    ]);
  });

  test('a field beyond the spec that a service shows is compared', () => {
    const compared = compareOrder(
      ofShop({ mileage: '5', store_name: 'Seoul' }),
      atService({ mileage: 5, store_name: '' }),
      sent,
    );
    expect(outcomes(compared.fields)).toMatchObject({ store_name: 'different' });
    expect(outcomes(compared.fields)).not.toHaveProperty('mileage');
  });

  test.each([
    ['total_price', { total_price: { cents: 1251, currency_iso: 'EUR' } }],
    ['created_at', { created_at: '2026-11-01T10:00:01Z' }],
    ['user_code', { user_code: null }],
    ['user_name', { username: 'Kim' }],
    ['user_email', { user_email: 'lee@example.com' }],
    ['user_phone', { phone: '010-1234-5678' }],
    ['code', { code: 'B' }],
  ])('%s that differs is different', (field, more) => {
    const compared = compareOrder(ofShop(), atService(more), sent);
    expect(outcomes(compared.fields)).toMatchObject({ [field]: 'different' });
    expect(isDifferent(compared)).toBe(true);
  });

  test('an amount or a creation that the service does not show is not comparable, never equal', () => {
    const compared = compareOrder(ofShop(), atService({ total_price: null, created_at: null }), sent);
    expect(outcomes(compared.fields)).toMatchObject({ total_price: 'not comparable', created_at: 'not comparable' });
  });

  test.each([
    ['user_code', 'user_code'],
    ['user_name', 'username'],
    ['user_email', 'user_email'],
    ['user_phone', 'phone'],
    ['created_at', 'created_at'],
  ])('%s that the response lacks is not comparable, whether the shop has a value or not', (field, name) => {
    const { [name as 'phone']: _, ...detail } = atService();
    for (const shop of [ofShop(), ofShop({ user_code: null, user_name: null, user_email: null, user_phone: null })]) {
      for (const withheld of [[], ['user_email', 'user_phone'] as const]) {
        const { fields } = compareOrder(shop, detail, { links: [], withheld });
        expect(fields.find((one) => one.field === field)).toMatchObject({ outcome: 'not comparable', service: null });
      }
    }
  });

  test('the account that a service shows in place of a name is no difference', () => {
    expect(isDifferent(compareOrder(ofShop(), atService({ username: 'kim' }), sent))).toBe(false);
  });

  test('a grade that is not linked yet is not comparable', () => {
    const compared = compareOrder(ofShop({ user_grade_code: 'gold' }), atService({ user_grade_id: 3 }), sent);
    expect(outcomes(compared.fields)).toMatchObject({ user_grade_id: 'not comparable' });
  });

  test('a withheld contact is not expected at the service, and another one there is left by the rule', () => {
    const facts = { ...sent, withheld: ['user_email', 'user_phone'] as const };
    expect(isDifferent(compareOrder(ofShop(), atService({ user_email: null }), facts))).toBe(false);
    const other = compareOrder(ofShop(), atService({ user_email: 'old@example.com' }), facts);
    expect(outcomes(other.fields)).toMatchObject({ user_email: 'different' });
    expect(isDifferent(other)).toBe(false);
    // What the shop cleared is cleared, whatever the rule says.
    const cleared = compareOrder(ofShop({ user_email: null }), atService(), facts);
    expect(isDifferent(cleared)).toBe(true);
  });

  test('without personal data only the presence of a value shows', () => {
    const text = JSON.stringify(
      withoutPersonalData(compareOrder(ofShop(), atService({ user_email: 'lee@example.com', username: 'Lee' }), sent)),
    );
    expect(text).not.toMatch(/@example|Lee/);
    expect(text).toContain('a value');
  });
});

describe('its lines', () => {
  const lines = (desired = ofShop(), detail = atService(), links: LineLink[] = [link('1', 11)]) =>
    compareOrder(desired, detail, { links, withheld: [] }).lines;

  test.each([
    ['price', { price: { cents: 1, currency_iso: 'EUR' } }, 'different'],
    ['price', { price: null }, 'not comparable'],
    ['status', { status: 'delivered' }, 'different'],
    ['invoice', { invoice: 'I' }, 'different'],
    ['delivered_at', { delivered_at: '2026-11-02T00:00:00Z' }, 'different'],
    ['delivery_started_at', { delivery_started_at: '2026-11-02T00:00:00Z' }, 'different'],
    ['delivery_service', { delivery_service: 'post' }, 'different'],
    ['product_options', { product_options: {} }, 'different'],
    ['product_id', { product_id: 8 }, 'different'],
  ])('%s as %o is %s', (field, more, outcome) => {
    const [only] = lines(ofShop(), atService({ sub_orders: [subOrder(more)] }));
    expect(only).toMatchObject({ kind: 'both', subOrderId: 11 });
    expect(outcomes(only?.fields ?? [])).toEqual({ [field]: outcome });
  });

  const open = ['invoice', 'delivered_at', 'delivery_started_at', 'delivery_service', 'status', 'product_options'];
  test.each(open)('%s that the response lacks is not comparable, whether the shop has a value or not', (field) => {
    const { [field as 'invoice']: _, ...shown } = subOrder();
    for (const row of [{}, { status: null, product_options: '{}' }]) {
      const [only] = lines(ofShop({}, [row]), atService({ sub_orders: [shown] }));
      expect(outcomes(only?.fields ?? [])).toMatchObject({ [field]: 'not comparable' });
    }
  });

  test('an emptied status is different, and one that was never sent is not comparable', () => {
    const [emptied] = lines(ofShop({}, [{ status: null }]));
    expect(outcomes(emptied?.fields ?? [])).toEqual({ status: 'different' });
    const [theirs] = lines(ofShop({}, [{ status: null }]), atService(), []);
    expect(outcomes(theirs?.fields ?? [])).toEqual({ status: 'not comparable' });
  });

  test('missing, surplus, kept, unmanaged and waiting lines are distinguished', () => {
    const detail = atService({
      sub_orders: [
        subOrder(),
        subOrder({ id: 12, product_id: 8 }),
        subOrder({ id: 13, product_id: 9, reviews_count: 1 }),
        subOrder({ id: 14, product_id: 10 }),
      ],
    });
    const desired = ofShop({}, [
      {},
      { line_code: '2', product_id: '20' },
      { line_code: '3', product_id: null, product_code: 'P' },
      { line_code: '4', price: 'dear' },
    ]);
    const content = (product_id: number) => ({ content: { product_id, price: '1', product_options: {} } });
    const found = lines(desired, detail, [link('1', 11), link('8', 12, content(8)), link('9', 13, content(9))]);
    expect(found.map(({ kind, lineCode, subOrderId }) => [kind, lineCode, subOrderId])).toEqual([
      ['both', '1', 11],
      ['missing', '2', null],
      ['surplus', '8', 12],
      ['kept', '9', 13],
      ['unmanaged', null, 14],
      ['not comparable', '3', null],
      ['not comparable', '4', null],
    ]);
  });

  test('only what a push would change is a difference', () => {
    const kept = { ...atService(), sub_orders: [subOrder(), subOrder({ id: 14, product_id: 10 })] };
    expect(isDifferent(compareOrder(ofShop(), kept, sent))).toBe(false);
    expect(isDifferent(compareOrder(ofShop({}, []), atService(), { ...sent, links: [link('1', 11)] }))).toBe(true);
    expect(isDifferent(compareOrder(ofShop(), atService({ sub_orders: [] }), sent))).toBe(true);
    expect(isDifferent(compareOrder(ofShop(), atService({ sub_orders: [subOrder({ status: 'x' })] }), sent))).toBe(
      true,
    );
  });
});
