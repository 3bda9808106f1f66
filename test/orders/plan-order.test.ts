import { describe, expect, test } from 'vitest';
import { wireRequests } from '../../src/orders/compare/show-order.ts';
import { type DesiredOrder, desiredOrder } from '../../src/orders/plan/desired-order.ts';
import { memoryOf, type Shown } from '../../src/orders/plan/order-memory.ts';
import {
  isDifferent,
  type OrderPlan,
  planDeletion,
  planOrder,
  withoutPersonalData,
} from '../../src/orders/plan/plan-order.ts';
import type { LineLink } from '../../src/orders/plan/sub-orders.ts';
import type { OrderDetail, SubOrder } from '../../src/review-api/index.ts';
import type { RawRow } from '../../src/shop/rows.ts';
import type { OrderLink } from '../../src/warehouse/orders/order-links.ts';
import type { Trigger } from '../../src/warehouse/runs/runs.ts';
import { orderLink, usualRights } from '../harness/sync-orders.ts';

const orderRow = {
  code: 'A',
  created_at: '2026-11-01T10:00:00.500000Z',
  total_price: '12.50',
  user_code: 'kim',
  user_name: null,
  user_email: 'kim@example.com',
  user_phone: null,
};
const lineRow = {
  order_code: 'A',
  line_code: '1',
  product_id: '7',
  price: '12.50',
  status: 'paid',
  product_options: '{"size":"S"}',
};
const nobody = { user_code: null, user_name: null, user_email: null, user_phone: null };

/** An order of the shop with one line. */
const ofShop = (order: RawRow = {}, lines: readonly RawRow[] = [{}]): DesiredOrder =>
  desiredOrder(
    { order: { ...orderRow, ...order }, lines: lines.map((line) => ({ ...lineRow, ...line })) },
    new Map(),
    new Map([['silver', 3]]),
    'off',
  ) as DesiredOrder;

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
  ...more,
});

const link = (lineCode: string, subOrderId: number | null, more: Partial<LineLink> = {}): LineLink => ({
  lineCode,
  subOrderId,
  content: { product_id: 7, price: '12.50', status: 'paid', product_options: { size: 'S' } },
  isOurs: true,
  idsBefore: null,
  ...more,
});

type Given = {
  shop?: DesiredOrder;
  shown?: Shown;
  link?: OrderLink;
  lines?: LineLink[];
  withContact?: boolean;
  deletes?: 'off' | 'send';
  trigger?: Trigger;
};

/** What a push sends of the order that is the same at both ends, but for what is given. */
function plan(given: Given = {}): OrderPlan {
  const { shop = ofShop(), link: known = orderLink(), lines = [link('1', 11)], withContact = true } = given;
  const contact = withContact ? 'allowed' : 'withheld';
  const rights = { ...usualRights, deletes: given.deletes ?? 'off', trigger: given.trigger ?? 'sync' };
  const memory = memoryOf({ ...known, contact }, lines);
  return planOrder(shop, given.shown ?? atService(), memory, { rights, now: () => new Date('2026-11-03') });
}
const difference = (given: Given = {}) => plan(given).difference as NonNullable<OrderPlan['difference']>;
/** The body of the last POST of the order. */
const bodyOf = (given: Given) =>
  plan(given)
    .requests.flatMap((request) => (request.kind === 'post order' ? [request.body] : []))
    .at(-1);
const requestsOf = (given: Given) => wireRequests(plan(given), difference(given).orderId);
const fieldsOf = (given: Given) => difference(given).fields.map(({ field }) => field);

describe('the fields of an order', () => {
  test('nothing is compared with another order of the shop, whatever code the service shows for it', () => {
    const alike = [{ orderCode: 'A', code: 'a', orderId: 1, shownCode: null }];
    const found = plan({ shop: { ...ofShop(), alike }, shown: atService({ code: 'a', user_name: 'Lee' }) });
    expect([found.difference, found.requests, found.memory.stop?.other]).toEqual([undefined, [], 'a']);
  });

  test('what both ends say alike, or an account in place of a name, is no difference', () => {
    expect(difference().fields).toEqual([]);
    expect(isDifferent(difference())).toBe(false);
    expect(fieldsOf({ shown: atService({ code: ' a' }) })).toEqual([]);
    expect(fieldsOf({ shown: atService({ username: 'kim' }) })).toEqual([]);
    expect(fieldsOf({ shop: ofShop({ user_name: 'kim' }), shown: atService({ username: 'kim' }) })).toEqual([]);
    const contact = { user_email: 'Kim@Example.com', user_phone: '010-1234 5678' };
    expect(fieldsOf({ shop: ofShop(contact), shown: atService({ phone: '01012345678' }) })).toEqual([]);
    expect(fieldsOf({ shop: ofShop(contact), shown: atService({ phone: '+82 10-1234-5678' }) })).toEqual([]);
    expect(fieldsOf({ shop: ofShop(contact), shown: atService({ phone: '0082 (0)10-1234-5678' }) })).toEqual([]);
    const abroad = { user_email: 'kim@example.com', user_phone: '+82 10-1234-5678' };
    expect(fieldsOf({ shop: ofShop(abroad), shown: atService({ phone: '010-1234-5678' }) })).toEqual([]);
    for (const phone of ['+82 11-1234-5678', '110-1234-5678', '10-1234-5678', '', '-', '5678'])
      expect(fieldsOf({ shop: ofShop(contact), shown: atService({ phone }) })).toEqual(['user_phone']);
    for (const [prefix, differing] of [['0082'], ['+852'], ['+8521', 'user_phone']]) {
      const shown = atService({ phone: `${prefix} 10-1234-5678` });
      expect(fieldsOf({ shop: ofShop(contact), shown })).toEqual([differing].filter(Boolean));
    }
    const wide = { user_phone: '０１０－１２３４－５６７８' };
    expect(fieldsOf({ shop: ofShop(wide), shown: atService({ phone: '010-1234-5678' }) })).toEqual([]);
  });

  test.each([
    ['０１０－１２３４－５６７８', '０１０－１２３４－５６７９'],
    ['없음', '모름'],
  ])('phone numbers without a usual digit are compared, too: %s', (user_phone, phone) => {
    expect(fieldsOf({ shop: ofShop({ user_phone }), shown: atService({ phone }) })).toEqual(['user_phone']);
  });

  test.each<[string, Partial<OrderDetail>]>([
    ['total_price', { total_price: { cents: 1251, currency_iso: 'EUR' } }],
    ['created_at', { created_at: '2026-11-01T10:00:01Z' }],
    ['user_code', { user_code: null }],
    ['user_name', { username: 'Kim' }],
    ['user_email', { user_email: 'lee@example.com' }],
    ['user_phone', { phone: '010-1234-5678' }],
    ['code', { code: 'B' }],
  ])('%s that differs is a difference', (field, more) => {
    expect(fieldsOf({ shown: atService(more) })).toEqual([field]);
    expect(isDifferent(difference({ shown: atService(more) }))).toBe(true);
  });

  test.each([
    ['user_code', 'user_code'],
    ['user_name', 'username'],
    ['user_email', 'user_email'],
    ['user_phone', 'phone'],
    ['created_at', 'created_at'],
  ])('%s that the response lacks is not shown, and no difference', (field, name) => {
    const filled = { user_name: 'Kim', user_phone: '010-1234-5678' };
    const without = (shown: OrderDetail) => Object.fromEntries(Object.entries(shown).filter(([key]) => key !== name));
    const shown = without(atService({ username: 'Kim', phone: '010-1234-5678' })) as OrderDetail;
    const found = difference({ shop: ofShop(filled), shown });
    expect(found.fields).toMatchObject([{ field, service: null, isShown: false }]);
    expect(isDifferent(found)).toBe(false);
    const guest = without(atService({ user_code: null, user_email: null })) as OrderDetail;
    expect(fieldsOf({ shop: ofShop(nobody), shown: guest })).toEqual(field === 'created_at' ? ['created_at'] : []);
  });

  test('a name or a contact that the service masks is not shown, and no difference', () => {
    const shop = ofShop({ user_name: 'Kim', user_phone: '010-1234-5678' });
    const masked = { username: 'K*m', user_email: 'k**@example.com', phone: '010-****-5678' };
    const found = difference({ shop, shown: atService(masked) });
    expect(found.fields.map(({ field, isShown }) => [field, isShown])).toEqual([
      ['user_name', false],
      ['user_email', false],
      ['user_phone', false],
    ]);
    expect(isDifferent(found)).toBe(false);
    // A name that the shop has cleared is still there.
    expect(fieldsOf({ shop: ofShop(nobody), shown: atService(masked) })).toContain('user_name');
  });

  test('an amount that the service does not show is not shown, never equal', () => {
    const found = difference({ shown: atService({ total_price: null }) });
    expect(found.fields).toMatchObject([{ field: 'total_price', shop: '12.50', isShown: false }]);
    expect(isDifferent(found)).toBe(false);
    expect(isDifferent(difference({ shown: atService({ created_at: null }) }))).toBe(false);
  });

  test.each([1, 100, 1000])('a factor of 100 is a difference at a service that shows %i cents a unit', (unit) => {
    // The queries gave hundredths once, and are corrected.
    const price = { cents: 1_990_000 * unit, currency_iso: 'KRW' };
    const shop = ofShop({ total_price: '19900' }, [{ price: '19900' }]);
    const lines = [link('1', 11, { content: { ...link('1', 11).content, price: '1990000' } })];
    const given = { shop, shown: atService({ total_price: price, sub_orders: [subOrder({ price })] }), lines };
    expect(fieldsOf(given)).toEqual(['total_price']);
    expect(difference(given).subOrders.matched).toMatchObject([{ body: { price: '19900' } }]);
  });

  test('a grade that is not linked yet is no difference, and keeps what was sent before', () => {
    const shop = ofShop({ user_grade_code: 'gold' });
    const given = { shop, shown: atService({ user_grade_id: 3 }), link: orderLink({ sentFields: ['user_grade_id'] }) };
    expect(fieldsOf(given)).toEqual([]);
    expect(bodyOf(given)).not.toHaveProperty('user_grade_id');
    const reason = expect.stringMatching(/^the grade gold is not at the service yet; the order keeps the grade that/);
    expect(difference(given).fieldsNotSent).toEqual([{ field: 'user_grade_id', reason }]);
  });

  test('values of the customer are masked for people', () => {
    const shown = atService({ user_email: 'lee@example.com', username: 'Lee' });
    const text = JSON.stringify(withoutPersonalData(difference({ shown })));
    expect(text).not.toMatch(/@example|Lee/);
    expect(text).toContain('a value');
  });
});

describe('contact', () => {
  test('that the rule withholds is neither sent nor a difference from another one', () => {
    for (const user_email of [null, 'old@example.com']) {
      const given = { shown: atService({ user_email }), withContact: false };
      expect(difference(given).fields).toEqual([]);
      expect(bodyOf(given)).not.toHaveProperty('user_email');
      expect(plan(given).withheld).toEqual(['user_email']);
    }
    expect(bodyOf({})).toMatchObject({ user_email: 'kim@example.com' });
  });

  test('that the shop has cleared is cleared, whatever the rule says', () => {
    const given = { shop: ofShop({ user_email: null }), withContact: false };
    expect(difference(given).fields).toMatchObject([{ field: 'user_email', shop: null, isShown: true }]);
    expect(bodyOf(given)).toMatchObject({ user_email: null });
  });

  test('that was sent and differs is named by a repair, which sends none', () => {
    const seen = (user_email: string | null, sentFields = ['user_email']) => {
      const given = { trigger: 'repair', shown: atService({ user_email }), link: orderLink({ sentFields }) } as const;
      expect(bodyOf(given)).not.toHaveProperty('user_email');
      return fieldsOf(given);
    };
    expect([seen('old@example.com'), seen('kim@example.com')]).toEqual([['user_email'], []]);
    // The service hides the value, or nobody has sent it.
    expect([seen(null), seen(''), seen('old@example.com', [])]).toEqual([[], [], []]);
  });

  test('of an order that the shop has deleted is cleared', () => {
    const shop = ofShop({ deleted_at: '2026-11-02T00:00:00.000000Z', user_phone: '010-1234-5678' });
    const given = { shop, link: orderLink({ sentFields: ['user_phone'] }) };
    expect(bodyOf(given)).toMatchObject({ user_email: null, user_phone: null });
    expect(difference(given).isDeletion).toBe(false);
    expect(plan({ shop, shown: 'absent' })).toMatchObject({ nothing: 'deleted in the shop', requests: [] });
  });
});

test('the body has null for what only the service has, or was sent', () => {
  const sent = orderLink({ sentFields: ['store_name'] });
  const body = bodyOf({ shop: ofShop(nobody), shown: atService({ username: 'Kim' }), link: sent });
  expect(body).toMatchObject({ user_code: null, user_name: null, user_email: null, store_name: null });
  for (const field of ['user_phone', 'mileage']) expect(body).not.toHaveProperty(field);
});

describe('the lines of an order', () => {
  const subOrdersOf = (given: Given) => difference(given).subOrders;

  test('that wait for a product, or break the contract, are left as they are', () => {
    const shop = ofShop({}, [
      { product_id: null, product_code: 'P' },
      { line_code: '2', price: 'dear' },
    ]);
    const shown = atService({ sub_orders: [subOrder(), subOrder({ id: 12, price: null })] });
    const lines = [link('1', 11), link('2', 12)];
    const found = difference({ shop, shown, lines });
    expect(found.subOrders).toMatchObject({ matched: [], create: [], remove: [], keep: [], links: lines });
    expect(isDifferent(found)).toBe(false);
  });

  test('lose their links if the order has another id by now, but for open creations', () => {
    const shop = ofShop({}, [{}, { line_code: '2' }, { line_code: '3', product_id: null, product_code: 'P' }]);
    const lines = [link('1', 11), link('2', null, { idsBefore: [] }), link('3', 13), link('gone', 14)];
    const shown = atService({ id: 2, sub_orders: [subOrder({ id: 21 })] });
    const again = subOrdersOf({ shop, shown, lines, link: orderLink({ orderId: 1 }) });
    expect(again).toMatchObject({
      matched: [{ lineCode: '2', subOrderId: 21 }],
      create: [{ lineCode: '1' }],
      remove: [],
    });
    expect(again.links.map(({ lineCode }) => lineCode).sort()).toEqual(['1', '2']);
  });

  test('keep their links where the id of the order was never recorded', () => {
    const given = { link: orderLink({ orderId: null }) };
    const matched = [{ subOrderId: 11, body: {} }];
    expect(subOrdersOf(given)).toMatchObject({ matched, links: [{ lineCode: '1', subOrderId: 11, isOurs: true }] });
  });

  test('differ if a push would change, create or remove a sub-order', () => {
    const differs = (given: Given) => isDifferent(difference(given));
    const shows = (...sub_orders: SubOrder[]) => ({ shown: atService({ sub_orders }) });
    const { status: _, ...lacking } = subOrder();
    for (const given of [shows(subOrder(), subOrder({ id: 14, product_id: 10 })), shows(lacking)])
      expect(differs(given)).toBe(false);
    const absent = [{ ...shows(), lines: [] }, shows(), { shown: 'absent' } as const];
    for (const given of [{ shop: ofShop({}, []) }, ...absent, shows(subOrder({ status: 'x' }))])
      expect(differs(given)).toBe(true);
  });
});

describe('an order that the shop has deleted', () => {
  const shop = ofShop({ deleted_at: '2026-11-02T00:00:00.000000Z' });
  const isDeletion = (given: Given) => difference({ shop, deletes: 'send', ...given }).isDeletion;

  test('is deleted with ORDER_DELETES=send, unless it has, or may have, reviews', () => {
    expect(isDeletion({})).toBe(true);
    expect(isDifferent(difference({ shop, deletes: 'send' }))).toBe(true);
    const deletion = { method: 'DELETE', path: '/v1/orders/1', body: undefined };
    expect(requestsOf({ shop, deletes: 'send' })).toEqual([deletion]);
    expect(isDeletion({ deletes: 'off' })).toBe(false);
    expect(isDeletion({ shop: ofShop() })).toBe(false);
    for (const reviews_count of [1, null]) {
      const shown = atService({ sub_orders: [subOrder(), subOrder({ id: 12, reviews_count })] });
      expect(isDeletion({ shown })).toBe(false);
    }
    expect(isDeletion({ shown: 'absent' })).toBe(false);
  });

  test('and that stays gets no line that the service lacks, and waits for no product', () => {
    const deleted = { deleted_at: '2026-11-02T00:00:00.000000Z' };
    const rows = [{ status: 'cancelled' }, { line_code: '2' }, { line_code: '3', product_id: null, product_code: 'P' }];
    const stays = { shop: ofShop(deleted, [...rows, { line_code: '4', price: 'dear' }]) };
    const change = { method: 'PUT', path: '/v1/orders/1/sub_orders/11', body: { status: 'cancelled' } };
    expect(requestsOf(stays).filter(({ path }) => path !== '/v1/orders')).toEqual([change]);
    expect(difference(stays)).toMatchObject({ linesNotSent: [], subOrders: { create: [], remove: [] } });
  });

  test('and that must stay is cleared once if it may have contact there', () => {
    const failedDeletion = { reason: 'held', failure: 'transient' } as const;
    const memory = { ...memoryOf(orderLink(), []), failedDeletion };
    const requests = (isClearable: boolean) => planDeletion(atService(), memory, { deletes: 'send' }, isClearable);
    expect([requests(true), requests(false)]).toMatchObject([undefined, { requests: [] }]);
    // The service may carry the deletion out later: another request could make the order again.
    const unknown = { ...memory, failedDeletion: { ...failedDeletion, isUnknown: true } } as const;
    const stopped = { requests: [], memory: { stop: { reason: 'held' } } };
    expect(planDeletion(atService(), unknown, { deletes: 'send' }, true)).toMatchObject(stopped);
  });

  test('is not deleted if the service shows another order for it', () => {
    const { requests, memory } = plan({ shop, deletes: 'send', shown: atService({ id: 7, code: 'B' }) });
    expect({ requests, memory }).toMatchObject({
      requests: [],
      memory: { orderId: 1, stop: { failure: 'permanent' } },
    });
  });
});

describe('the requests of a push', () => {
  test('are the order, changes, removals and creations, with amounts as they are sent', () => {
    const shop = ofShop({ total_price: '12.5000000000' }, [{ price: '13.00000' }, { line_code: '3', product_id: '8' }]);
    const shown = atService({ sub_orders: [subOrder(), subOrder({ id: 12, product_id: 9 })] });
    const requests = requestsOf({ shop, shown, lines: [link('1', 11), link('2', 12)] });
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/orders',
      'PUT /v1/orders/1/sub_orders/11',
      'DELETE /v1/orders/1/sub_orders/12',
      'POST /v1/orders/1/sub_orders',
    ]);
    expect(requests[0]?.body).toMatchObject({ code: 'A', total_price: '12.50' });
    expect(requests[1]?.body).toEqual({ price: '13.00' });
    expect(requests[3]?.body).toMatchObject({ product_id: 8, price: '12.50' });
  });

  test('of an order that the service does not have name its id in their place', () => {
    const paths = requestsOf({ shown: 'absent', lines: [] }).map(({ path }) => path);
    expect(paths).toEqual(['/v1/orders', '/v1/orders/:order_id/sub_orders']);
  });

  test('remove a gone line if others wait or are faulty, none if no other is left', () => {
    const methods = (rows: RawRow[]) =>
      requestsOf({ shop: ofShop({}, rows), lines: [link('gone', 11)] }).map(({ method }) => method);
    for (const one of [{ product_id: null, product_code: 'P' }, { price: 'dear' }])
      expect(methods([one])).toEqual(['POST', 'DELETE']);
    expect(methods([])).toEqual(['POST']);
  });
});
