import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { describe, expect, test } from 'vitest';
import { stepsOf } from '../../jobs/push-orders.ts';
import { isSameCode, isTooLong } from '../../src/base/codes.ts';
import type { PushRights } from '../../src/orders/contact-rule.ts';
import { retryDelayMs } from '../../src/orders/limits.ts';
import type { OrderDeps } from '../../src/orders/order-deps.ts';
import { type DesiredOrder, desiredOrder, optionalFields, requestBody } from '../../src/orders/plan/desired-order.ts';
import { memoryOf, type OrderMemory } from '../../src/orders/plan/order-memory.ts';
import { type OrderRequest, planOrder } from '../../src/orders/plan/plan-order.ts';
import {
  isSameInAnyCase,
  isSameInvoice,
  isSameSecond,
  isSameText,
  isShownAs,
  moneyUnitOf,
  optionsKey,
  optionsText,
} from '../../src/orders/plan/same-value.ts';
import { recordOf } from '../../src/orders/push/record.ts';
import { findOrder, learn, type Result, sendAll } from '../../src/orders/push/send.ts';
import { absent, openBreaker, openRequests, type Sent } from '../../src/orders/requests.ts';
import { inSlices } from '../../src/orders/select/orders-by-day.ts';
import {
  AuthenticationError,
  type CallOptions,
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  type OrderBody,
  type OrderDetail,
  RefusedError,
  sentAmount,
  UnavailableError,
  UnknownOutcomeError,
} from '../../src/review-api/index.ts';
import type { OrderLink } from '../../src/warehouse/orders/order-links.ts';
import { orderLink, usualRights } from '../harness/sync-orders.ts';

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
const none = new Map<string, number>();
/** A warehouse without rows. */
const emptyDb = new Kysely({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
const desiredOf = (order: Record<string, string | null> = {}, lines = [line('1')], products = none, grades = none) =>
  desiredOrder({ order: { ...row, ...order }, lines }, products, grades, 'off') as DesiredOrder;

/** What is recorded of a push of the order after which this is known. */
const recorded = (known: Partial<OrderMemory>, before: Partial<OrderLink> = {}, order = desiredOf()) => {
  const [memory, link] = [{ ...memoryOf(orderLink(before), []), ...known }, orderLink(before)];
  const isNothing = { isNew: false, isAlike: false, isForgotten: false };
  const leased = { orderCode: 'A', token: 't', link, lines: [], renewedAtMs: 0, ...isNothing };
  const at = { rights: usualRights, readAt: new Date(), now: () => new Date() };
  return recordOf(order, leased, memory, at);
};

test('a creation without response leaves open whether the service has the order', () => {
  const failed = (failure: 'transient' | 'permanent', orderId: number | null, before?: Partial<OrderLink>) =>
    recorded({ orderId, stop: { reason: 'no', failure } }, before).isAnswered;
  expect([failed('transient', null), failed('transient', 1)]).toEqual([false, true]);
  expect(failed('permanent', null, { failedPushes: 1 })).toBe(true);
  const [died, lost] = [{ failedPushes: 0 }, { failedPushes: 1, fingerprint: 'f' }];
  expect([died, lost].map((before) => failed('permanent', null, before))).toEqual([false, false]);
  expect(failed('permanent', null, { ...lost, pushedAt: new Date() })).toBe(true);
});

describe('desiredOrder', () => {
  test('lines of two orders never share a dead letter, also where codes have slashes', () => {
    const key = (code: string, lineCode: string) => {
      const bad = { ...line(lineCode, { price: 'much' }), order_code: code };
      return desiredOf({ code }, [bad]).faulty[0]?.key;
    };
    expect(key('A', '1')).toBe('A/1');
    expect(new Set([key('A/1', '2'), key('A', '1/2'), key('A%2F1', '2')]).size).toBe(3);
  });

  test('two lines with one code are one dead letter with both rows; neither is pushed', () => {
    const rows = [line('1', { price: '5' }), line('1', { price: '6' })];
    const hash = expect.stringMatching(/^sha256:/);
    // Lines without a code are a dead letter each.
    expect(desiredOf({}, [...rows, line('2'), line(''), line(null)])).toMatchObject({
      lines: [{ lineCode: '2' }],
      faulty: [{ lineCode: '1', payload: rows }, { lineCode: hash }, { lineCode: hash }],
    });
  });

  test('a product id of the shop comes before the id that is known of its product code', () => {
    // Reviews name it in another form of Unicode.
    const product_code = 'E\u0301 ';
    const rows = [line('1', { product_code }), line('2', { product_id: null, product_code })];
    const { lines } = desiredOf({}, rows, new Map([['\u00c9', 8]]));
    expect(lines.map(({ content }) => content.product_id)).toEqual([7, 8]);
  });

  test('a blank value counts as none: no guest becomes the customer with a blank code', () => {
    const { body } = desiredOf({ user_code: ' ', user_email: ' ' });
    for (const field of ['user_code', 'user_email']) expect(body).not.toHaveProperty(field);
  });

  test.each<[string | null, Record<string, string>]>([
    ...[null, '', ' ', 'null', '""', '[]', '{}'].map((text) => [text, {}] as [string | null, Record<string, string>]),
    ['{"Size": 38, "Gift": true, "Engraving": "", "Colour": null, "No": [], "O": {}}', { Size: '38', Gift: 'true' }],
    [
      '{"Serial": 12345678901234567890, "Low": -9007199254740993, "Waist": 38.5}',
      { Serial: '12345678901234567890', Low: '-9007199254740993', Waist: '38.5' },
    ],
    [JSON.stringify({ [' 사이즈 '.normalize('NFD')]: ' L ', blank: '\u00a0' }), { 사이즈: 'L' }],
  ])('options %s hold what has a value, as text', (product_options, options) => {
    expect(desiredOf({}, [line('1', { product_options })]).lines[0]?.content.product_options).toEqual(options);
  });

  test('an order that cannot be read is a dead letter under its code', () => {
    const unreadable = { order: { ...row, total_price: null }, lines: [] };
    expect(desiredOrder(unreadable, none, none, 'off')).toMatchObject({ key: 'A' });
  });
});

describe('fingerprint', () => {
  test('stays as it was in earlier versions', () => {
    const [created_at, amount] = ['2024-01-01T00:00:00.000000Z', '12.3400000000000000'];
    const printOf = (customer: Record<string, string>) =>
      desiredOf({ created_at, total_price: amount, ...customer }, [line('1', { price: amount })]).fingerprint;
    expect(printOf({})).toBe('NaWqD8Qn7YfaIvnVfc6cJUL7DGhmtnSjIQ5PgTl_6tY');
    const customer = { user_email: 'kim@example.com', user_phone: '010-1234-5678' };
    expect(printOf(customer)).toBe('zBrsv1adodayXwOh4JlA33-p35xO9_1al75AeyLLYoM');
  });

  test('changes with the order and every line; with each field: promises/each-field', () => {
    const prints = [
      desiredOf(),
      desiredOf({ total_price: '11' }),
      desiredOf({ deleted_at: '2026-01-02T00:00:00Z' }),
      desiredOf({}, [line('1'), line('2')]),
      desiredOf({}, [line('1'), line('2', { product_id: null, product_code: 'P' })]),
      desiredOf({}, [line('1'), line('2', { price: 'much' })]),
      // The dead letter says by then what is wrong now.
      desiredOf({}, [line('1'), line('2', { price: null })]),
    ].map((one) => one.fingerprint);
    expect(new Set(prints).size).toBe(prints.length);
    const gold = { user_grade_code: 'gold' };
    const ofGrades = [desiredOf(gold, [], none, new Map([['gold', 1]])), desiredOf(gold, []), desiredOf({}, [])];
    // A grade that the service does not have yet counts too: a push records what the order waits for.
    expect(new Set(ofGrades.map((one) => one.fingerprint)).size).toBe(3);
  });
});

describe('whether a run sends anything', () => {
  const isUnchanged = (order: DesiredOrder, pushed: OrderLink, rights: PushRights) =>
    planOrder(order, 'unknown', memoryOf(pushed, []), { rights, now: () => new Date() }).nothing === 'unchanged';

  test('an order whose contact was withheld is changed for --with-email only', () => {
    const desired = desiredOf({ user_email: 'a@example.com' });
    const pushed = orderLink({ fingerprint: desired.fingerprint });
    const always = { ...usualRights, trigger: 'backfill with e-mail' } as const;
    expect(isUnchanged(desired, pushed, usualRights)).toBe(true);
    expect(isUnchanged(desired, pushed, always)).toBe(false);
    expect(isUnchanged(desired, { ...pushed, sentFields: ['user_email'] }, always)).toBe(true);
    // Nor does an order that forget has masked cost a request any more.
    expect(isUnchanged(desired, { ...pushed, contact: 'forgotten' }, always)).toBe(true);
  });

  test('an order that failed is unchanged until it is due, but for --allow-removals', () => {
    const desired = desiredOf();
    const pushed = orderLink({ fingerprint: desired.fingerprint, failedPushes: 1, dueAt: new Date() });
    expect(isUnchanged(desired, pushed, usualRights)).toBe(true);
    expect(isUnchanged(desired, { ...pushed, isDue: true }, usualRights)).toBe(false);
    expect(isUnchanged(desired, pushed, { ...usualRights, allowRemovals: true })).toBe(false);
    // It is only to be looked at once more in an hour.
    expect(isUnchanged(desired, { ...pushed, failedPushes: 0 }, { ...usualRights, allowRemovals: true })).toBe(true);
  });
});

test('each sent field that is empty now is cleared once, not by a push that failed', () => {
  const body = requestBody(desiredOf(), optionalFields, true);
  for (const field of optionalFields) expect(body[field]).toBeNull();
  const detail = { id: 1, code: 'A', total_price: null, sub_orders: [] };
  const sent = orderLink({ sentFields: optionalFields });
  expect(recorded({ link: sent, accepted: { body, detail } }).sentFields).toEqual([]);
  const stop = { reason: '500', failure: 'transient' } as const;
  expect(recorded({ link: sent, stop }).sentFields).toEqual(optionalFields);
});

test('of an order that was stopped nothing else is a dead letter', () => {
  const stop = { reason: 'refused', failure: 'permanent' } as const;
  const failures = [{ lineCode: '1', reason: 'no product', failure: 'transient' }] as const;
  expect(recorded({ stop, failures, held: 1, refused: ['user_email'] }).deadLetters).toMatchObject([
    { kind: 'order', key: 'A', reason: 'refused' },
  ]);
});

test('contact that the service keeps is named, and no stand-in for a name', () => {
  const nobody = { user_email: null, user_phone: null, user_name: null };
  const kept = { total_price: null, username: 'Guest', phone: '010-9', user_email: 'k@example.com' };
  const accepted = { body: nobody, detail: kept } as unknown as OrderMemory['accepted'];
  const { deadLetters } = recorded({ accepted }, { sentFields: ['user_email'] }, desiredOf(nobody));
  const reason = expect.stringMatching(/^the service keeps user_email, user_phone although/);
  expect(deadLetters).toMatchObject([{ key: 'A', reason }]);
});

test('copies are looked for until an hour after the creation, if nothing failed', () => {
  const content = { product_id: 7, price: '5', product_options: {} };
  const after = (minutes: number, failures: OrderMemory['failures'] = []) => {
    const linkedAt = new Date(Date.now() - minutes * 60_000);
    const lines = [{ lineCode: '1', subOrderId: 4, content, isOurs: true, idsBefore: [3], linkedAt }];
    const accepted = { body: {}, detail: {} } as unknown as OrderMemory['accepted'];
    const record = recorded({ accepted, lines, failures });
    return [record.lines[0]?.idsBefore, record.dueAfterMs];
  };
  expect(after(59)).toEqual([[3], 3_600_000]);
  expect(after(60)).toEqual([null, null]);
  expect(after(60, [{ lineCode: '1', reason: 'r', failure: 'transient' }])).toEqual([[3], 0]);
});

test('failures are counted while the order is the same, and a change begins again', () => {
  const failed = (fingerprint: string) =>
    recorded({ stop: { reason: '500', failure: 'transient' } }, { fingerprint, failedPushes: 3 });
  expect(failed(desiredOf().fingerprint)).toMatchObject({ failedPushes: 4, dueAfterMs: 2_400_000 });
  expect(failed('another')).toMatchObject({ failedPushes: 1, dueAfterMs: 0 });
});

test('a transient failure is tried after 0, 10, 20 … minutes, a refusal after a day', () => {
  const minutes = [1, 2, 3, 4, 8, 9, 10, 100].map((failed) => retryDelayMs('transient', failed) / 60_000);
  expect(minutes).toEqual([0, 10, 20, 40, 640, 1280, 1440, 1440]);
  expect([1, 50].map((failed) => retryDelayMs('permanent', failed))).toEqual([86_400_000, 86_400_000]);
  // An order with a refused line and one that may pass is tried by the next run.
  const dueAfter = (...kinds: ('transient' | 'permanent')[]) =>
    recorded({ failures: kinds.map((failure) => ({ lineCode: '1', reason: 'r', failure })) }).dueAfterMs;
  expect([dueAfter('permanent'), dueAfter('permanent', 'transient')]).toEqual([86_400_000, 0]);
});

describe('what is known after a request', () => {
  const content = { product_id: 7, price: '5', product_options: {} };
  const known = { lineCode: '1', subOrderId: 4, content, isOurs: true, idsBefore: null };
  const lost = { kind: 'unknown', reason: 'lost', failure: 'transient' } as const;
  const broken = { kind: 'failed', reason: '500', failure: 'transient' } as const;
  const refused = { kind: 'failed', reason: '422', failure: 'permanent', isRefused: true } as const;
  const done = (value: unknown = undefined) => ({ kind: 'done', value, attempts: 1 }) as const;
  /** What the service showed before. */
  const seen = { id: 1, code: 'A' } as OrderDetail;
  const learned = (request: OrderRequest, sent: Sent<unknown>, before: Partial<OrderMemory>) => {
    const memory = { ...memoryOf(orderLink(), [known]), ...before };
    const after = learn({ requests: [request], memory }, seen, [{ request, sent } as Result]);
    return { ...after.memory, shown: after.shown };
  };

  const create = { kind: 'create', lineCode: '1', body: content, isSentAgain: false } as const;
  const change = (isHidden: boolean) => {
    const of = { lineCode: '1', subOrderId: 4, content: { ...content, price: '6' } };
    return { kind: 'change', ...of, body: { price: '6' }, fields: [], isHidden } as const;
  };

  test.each([
    [{ id: 1, code: 'A' }, 2],
    [{ id: 2, code: 'A' }, 1],
    [{ id: 1, code: 'B' }, 1],
  ])('after a POST that shows order %j, %i requests of two are sent', async (shown, sent) => {
    const requests = [{ kind: 'post order', body: { code: 'A' } as OrderBody } as const, change(false)];
    const planned = { requests, memory: { ...memoryOf(orderLink(), [known]), orderId: 1 } };
    const deps = { log: { info() {} } } as unknown as Parameters<typeof sendAll>[0];
    const results = await sendAll(deps, 'A', planned, async () => done(shown) as Sent<never>);
    expect(results).toHaveLength(sent);
  });

  test.each([
    [done({ id: 9 }), false, { subOrderId: 9, idsBefore: null }],
    [{ ...done({ id: 9 }), attempts: 2 }, false, { subOrderId: 9, idsBefore: [3] }],
    [done({ id: 9 }), true, { subOrderId: 9, idsBefore: [3] }],
    [refused, false, undefined],
    [refused, true, { subOrderId: null, idsBefore: [3] }],
    [broken, false, { subOrderId: null, idsBefore: [3] }],
    [lost, false, { subOrderId: null, idsBefore: [3] }],
  ] as const)('a creation that ends with %j, sent before: %s, is remembered as %j', (sent, isSentAgain, left) => {
    const lines = [{ ...known, subOrderId: null, idsBefore: [3] }];
    const { lines: after } = learned({ ...create, isSentAgain }, sent, { lines });
    expect(after).toEqual(left === undefined ? [] : [{ ...known, ...left }]);
  });

  const deletion = { kind: 'delete order' } as const;
  const remove = (subOrderId: number) => ({ kind: 'remove', lineCode: '1', subOrderId }) as const;
  const post = { kind: 'post order', body: { code: 'A', user_code: null } as OrderBody } as const;
  const accepted = (body: object) => ({ accepted: { body, detail: {} } as OrderMemory['accepted'] });
  const [stop, failed] = [{ reason: 'no', failure: 'permanent' } as const, { lineCode: '1', reason: 'lost' }];
  const rows: [what: string, OrderRequest, Sent<unknown>, before: Partial<OrderMemory>, after: object][] = [
    ['a change', change(false), done(), {}, { lines: [{ ...known, content: { ...content, price: '6' } }] }],
    ['404 to one that is shown', change(false), absent, {}, { lines: [known], looks: 2, shown: 'unknown' }],
    ['404 to one that is not', change(true), absent, {}, { lines: [], looks: 2, shown: 'unknown' }],
    ['one in doubt', change(false), lost, {}, { failures: [], looks: 2, shown: 'unknown' }],
    ['one in doubt again', change(false), lost, { looks: 2 }, { failures: [failed], shown: undefined }],
    ['one in doubt of an order that stops', change(false), lost, { stop }, { failures: [failed], shown: undefined }],
    ['the removal of the own sub-order', remove(4), done(), {}, { lines: [] }],
    ['the removal of a copy', remove(5), done(), {}, { lines: [known] }],
    ['no sight of an order', { kind: 'find' }, broken, {}, { stop: { reason: '500' } }],
    ['no sight of one that must stay', { kind: 'find' }, broken, { failedDeletion: stop }, { stop }],
    ['a deletion', deletion, done(), {}, { failedDeletion: undefined, shown: 'absent' }],
    ['one that is refused', deletion, refused, {}, { failedDeletion: { reason: '422' }, shown: seen }],
    ['404 to a deletion', deletion, absent, {}, { failedDeletion: { failure: 'transient' }, shown: 'unknown' }],
    ['a deletion in doubt', deletion, broken, {}, { failedDeletion: { isUnknown: true }, shown: 'unknown' }],
    ['empty fields that are refused', post, refused, {}, { refused: ['user_code'], stop: undefined }],
    ['that fail, where others were accepted', post, broken, accepted({}), { refused: ['user_code'], stop: undefined }],
    ['that fail at once', post, broken, {}, { refused: [], stop: { reason: '500' } }],
    ['that were accepted', post, refused, accepted({ user_code: null }), { refused: [], stop: { reason: '422' } }],
  ];
  test.each(rows)('%s', (_, request, sent, before, after) => {
    expect(learned(request, sent, before)).toMatchObject(after);
  });
});

test.each([
  ['12.3400000000000000', '12.34'],
  ['13900.0000000000000000', '13900.00'],
  ['12.34500', '12.345'],
  ['-0.10000', '-0.10'],
  // As columns of whole units or of two decimals write them: what is sent of these never changes.
  ['13900', '13900'],
  ['12.50', '12.50'],
  ['12.5', '12.5'],
])('the amount %s is sent as %s', (given, sent) => {
  expect(sentAmount(given, 'price')).toBe(sent);
});

describe('what counts as the same', () => {
  test.each([
    ['12.50', 1250, 100, true],
    ['12.50', 1250, undefined, true],
    ['12.50', 12_500, undefined, true],
    ['12.50', 1251, undefined, false],
    ['12.50', 125_000, 100, false],
    ['12.50', 13, 1, true],
    ['12.50', 12, 1, true],
    ['12.50', 14, 1, false],
    // A float is a hair below or above: a service may round to either.
    ['1.005', 100, 100, true],
    ['1.005', 101, 100, true],
    ['1.005', 1005, 1000, true],
    // Or it cuts the 1998.9999999999998 that a float makes of 19.99.
    ['19.99', 1998, 100, true],
    ['-19.99', -1998, 100, true],
    ['19.99', 1997, 100, false],
    ['19.98', 1997, 100, false],
    ['0.005', 5, 1000, true],
    ['-10', -1000, 100, true],
    ['-10', -10, 1, true],
    ['-10.49', -10, 1, true],
    ['-10', 1000, 100, false],
  ] as const)('a price of %s shown as %i where a unit has %i is the same: %s', (ours, cents, unit, isSame) => {
    expect(isShownAs({ cents, currency_iso: 'KRW' }, ours, unit)).toBe(isSame);
  });

  test('the unit in which most amounts agree is that of a service; those of 0 tell none', () => {
    const amount = (text: string, cents: number) => ({ amount: text, shown: { cents, currency_iso: 'KRW' } });
    expect(moneyUnitOf([])).toBeUndefined();
    expect(moneyUnitOf([amount('0', 0), amount('0.00', 0)])).toBeUndefined();
    expect(moneyUnitOf([amount('5', 7)])).toBeUndefined();
    expect([12, 1234, 12_340].map((cents) => moneyUnitOf([amount('12.34', cents)]))).toEqual([1, 100, 1000]);
    // 0.001 that is shown as 1 agrees in any unit.
    expect(moneyUnitOf([amount('0.001', 1), amount('18.6', 18_600)])).toBe(1000);
    // Somebody has changed the first one there.
    expect(moneyUnitOf([amount('5', 7), amount('19900', 1_990_000), amount('100', 100)])).toBe(100);
  });

  type Options = Readonly<Record<string, string>>;
  const areSameOptions = (one: Options, other: Options) => optionsKey(one) === optionsKey(other);

  test('texts agree whatever their composition, spaces and escapes; options in any case', () => {
    const decomposed = '김하나'.normalize('NFD');
    expect(isSameText(decomposed, '김하나')).toBe(true);
    for (const apostrophe of ['&#39;', '&#039;', '&#x27;', '&apos;', '&amp;#39;', '&AMP;#X27;'])
      expect(isSameText(`D${apostrophe}Angelo &amp; Co `, "D'Angelo & Co")).toBe(true);
    expect(areSameOptions({ '&#34;': '&#xE4;' }, { '"': 'ä' })).toBe(true);
    expect(isSameText('Ｋim\u3000①', 'Kim 1')).toBe(true);
    expect(isSameInAnyCase('Deliverytm', 'Delivery™')).toBe(true);
    expect(isSameText('Kim &amp;amp; Lee &lt;b&gt;', 'Kim &amp;  Lee\u00a0<b>')).toBe(true);
    // A grade whose name has the same case goes first; fields of an order and its lines are the same in any case.
    for (const one of ['kim', null]) expect(isSameText('Kim', one)).toBe(false);
    expect([isSameInAnyCase('Kim', 'kim'), isSameInAnyCase(null, 'k')]).toEqual([true, false]);
    expect([isSameInvoice('1234-56', '123456'), isSameInvoice('AB 12', 'ab12')]).toEqual([true, true]);
    for (const other of ['12-4', '-', null]) expect(isSameInvoice(other, '12-3')).toBe(false);
    expect(isSameInvoice(null, '-')).toBe(false);
    expect(areSameOptions({ size: 'l' }, { Size: 'L', Engraving: '' })).toBe(true);
    expect(areSameOptions({ [decomposed]: '1' }, { 김하나: '1' })).toBe(true);
    expect(areSameOptions({ Size: 'L' }, { Size: 'M' })).toBe(false);
  });

  test('options may be reordered and trimmed, dates differ by less than a second', () => {
    expect(areSameOptions({ 'b ': ' 2', a: '1' }, { a: '1 ', b: '2' })).toBe(true);
    expect(optionsText({ size: 'S', colour: 'red' })).toBe('colour:red, size:S');
    expect([isSameCode(' aé', 'AÉ '.normalize('NFD')), isSameCode('a', 'b')]).toEqual([true, false]);
    expect(areSameOptions({ a: '1' }, {})).toBe(false);
    // The service is sent `Taille ::L` and `Size: EU:42`, and splits at the first colon.
    expect(areSameOptions({ 'Taille :': 'L' }, { 'Taille ': ':L' })).toBe(true);
    expect(areSameOptions({ 'Size: EU': '42' }, { Size: 'EU:42' })).toBe(true);
    expect(areSameOptions({ 'Size: EU': '42' }, { Size: 'US:42' })).toBe(false);
    expect(isSameSecond('2026-01-01T09:00:00.900+09:00', '2026-01-01T00:00:00Z')).toBe(true);
    // Ruby prints spaces.
    expect(isSameSecond('2026-01-01 09:00:00 +0900', '2026-01-01T00:00:00+00:00')).toBe(true);
    expect(isSameSecond(null, undefined)).toBe(true);
    expect(isSameSecond(null, '2026-01-01T00:00:00Z')).toBe(false);
  });
});

test('a batch of 1,001 orders is three steps, and as many pages that are read', async () => {
  const codes = Array.from({ length: 1001 }, (_, n) => `O${n}`);
  const { steps } = stepsOf({ codes, state: {} });
  const shop = { orders: async (some: readonly string[]) => some.map((code) => ({ order: { code }, lines: [] })) };
  const pages = (await Array.fromAsync(inSlices(shop, codes))).map((page) => page.map(({ order }) => order.code));
  for (const parts of [steps.map((step) => step.codes), pages]) {
    expect(parts.map((part) => part.length)).toEqual([500, 500, 1]);
    expect(parts.flat()).toEqual(codes);
  }
});

test('a code may have a thousand bytes in UTF-8, whatever its script, and not one more', () => {
  expect([1000, 1001].map((bytes) => isTooLong('a'.repeat(bytes)))).toEqual([false, true]);
  expect([333, 334].map((characters) => isTooLong('한'.repeat(characters)))).toEqual([false, true]);
});

describe('the requests of one record', () => {
  const at = (status?: number) => ({ method: 'POST', path: '/v1/orders', status, attempts: 1 });
  const open = (beforeAttempt?: () => void, signal = new AbortController().signal) =>
    openRequests({ limits: { giveUpAfterMs: 900, settleMs: 1 }, signal } as OrderDeps, beforeAttempt);

  test.each([
    ...[400, 409, 413, 422].map((status) => [new RefusedError(at(status)), 'permanent'] as const),
    ...[403, 405].map((status) => [new RefusedError(at(status)), 'transient'] as const),
    [new UnavailableError(at(500)), 'transient'],
    [new LimitedError(at(429)), 'transient'],
    [new AuthenticationError(at(401)), 'transient'],
    [new MalformedResponseError(at(200)), 'transient'],
    [new NotFoundError(at(404)), 'absent'],
    [new UnknownOutcomeError(at()), 'unknown'],
  ] as const)('%s is %s', async (error, ends) => {
    const sent = await open()(() => Promise.reject(error));
    expect(sent.kind === 'failed' ? sent.failure : sent.kind).toBe(ends);
  });

  test('fail for no record if credentials are refused for all, or no token can be read', async () => {
    const ofToken = new MalformedResponseError({ ...at(200), path: '/oauth/token' });
    for (const error of [new AuthenticationError(at(401), true), ofToken])
      await expect(open()(() => Promise.reject(error))).rejects.toBe(error);
  });

  type Answer = 'own' | 'other' | 400 | 404 | 500;
  const byCode = ['own', 'other', 404, 400, 500] as const;
  test.each<[Answer | 'unknown', ...ends: ('id' | 'code' | 'absent' | 'failed')[]]>([
    ['unknown', 'code', 'failed', 'absent', 'failed', 'failed'],
    ['own', 'id', 'id', 'id', 'id', 'id'],
    // A service need not look orders up by code: then its response to the id counts.
    ['other', 'code', 'absent', 'absent', 'absent', 'absent'],
    [404, 'code', 'absent', 'absent', 'absent', 'absent'],
    [400, 'failed', 'failed', 'failed', 'failed', 'failed'],
    [500, 'failed', 'failed', 'failed', 'failed', 'failed'],
  ])('find an order whose id leads to %s, and its code to own, other, 404, 400 or 500', async (byId, ...ends) => {
    const answer = (from: string, what: Answer) => async () => {
      if (what === 404) throw new NotFoundError(at(404));
      if (what === 400) throw new RefusedError(at(400));
      if (what === 500) throw new UnavailableError(at(500));
      return { code: what === 'own' ? 'A' : 'B', from };
    };
    const found = byCode.map(async (one) => {
      const orders = { get: answer('id', byId as Answer), getByCode: answer('code', one) };
      const deps = { api: { orders }, db: emptyDb } as unknown as Parameters<typeof findOrder>[0];
      const sent = await findOrder(deps, { code: 'A', orderId: byId === 'unknown' ? null : 1 }, open());
      return sent.kind === 'done' ? (sent.value as unknown as { from: string }).from : sent.kind;
    });
    expect(await Promise.all(found)).toEqual(ends);
  });

  test('after a failure are sent once; the lease is checked before each attempt', async () => {
    let checks = 0;
    const send = open(() => void checks++);
    const sent: unknown[] = [];
    const fails = ({ giveUpAfterMs, beforeSend }: CallOptions) => {
      beforeSend?.();
      sent.push([giveUpAfterMs, checks]);
      return Promise.reject(new UnavailableError(at(500)));
    };
    for (let request = 1; request <= 3; request += 1) await send(fails);
    expect(sent).toEqual([
      [900, 1],
      [0, 2],
      [0, 3],
    ]);
    await expect(send(() => Promise.reject(new UnavailableError(at(500), false)))).rejects.toThrow(UnavailableError);
    // Without a connection no order has failed: the service is down, however few are due.
    const unsent = new UnavailableError(at(), true, true);
    await expect(open()(() => Promise.reject(unsent))).rejects.toBe(unsent);
  });

  test('one that waits in the client is not sent after an abort', async () => {
    const abort = new AbortController();
    const send = open(undefined, abort.signal);
    const aborted = async ({ beforeSend }: CallOptions) => {
      abort.abort(new Error('the run has ended'));
      beforeSend?.();
    };
    await expect(send(aborted)).rejects.toThrow('the run has ended');
  });
});

test('the service counts as down after five failures begun since the last success', () => {
  const breaker = openBreaker();
  const begun = (count: number, hasFailedBefore = false) =>
    Array.from({ length: count }, () => breaker.begin(hasFailedBefore));
  const [old, older, ...others] = begun(6);
  for (const one of [...others, ...begun(9, true)]) one('500');
  begun(1)[0]?.();
  for (const one of begun(4)) one('500');
  old?.('500');
  older?.();
  // A success of an earlier start takes back no later one.
  begun(1, true)[0]?.('404');
  expect(() => begun(1)[0]?.('503')).toThrow('503');
  // A process that is still at it stops too.
  expect(() => begun(1, true)[0]?.('404')).toThrow('503');
});
