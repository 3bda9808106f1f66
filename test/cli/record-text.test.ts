import { expect, test } from 'vitest';
import { comparisonLines, valueText } from '../../src/cli/ui/difference-text.ts';
import { orderText, reviewText } from '../../src/cli/ui/record-text.ts';

test('each kind of difference has its sentence, and a deletion only one', () => {
  const field = (name: string, isShown = true) => ({ field: name, shop: '1', service: null, isShown });
  const line = { lineCode: 'L', subOrderId: 7 };
  const matched = [
    { ...line, isHidden: true, fields: [field('price', false)] },
    { ...line, isHidden: false, fields: [field('status'), field('invoice', false)] },
  ];
  const keep = [
    { subOrderId: 7, why: 'odd' },
    { subOrderId: 8, why: 'foreign' },
  ];
  const difference = {
    orderId: 1,
    isDeletion: false,
    fields: [field('total_price'), field('mileage', false)],
    fieldsNotSent: [{ field: 'user_grade_id', reason: 'waits' }],
    linesNotSent: [{ lineCode: 'N', reason: 'twice' }],
    subOrders: { matched, keep, create: [line], remove: [line], links: [] },
  };
  const said = (more: object = {}) => comparisonLines({ ...difference, ...more } as never);
  expect(said()).toEqual([
    'Shop and service differ',
    '  total_price: the shop has 1, the service nothing',
    '  line L: the service does not show its sub-order 7',
    '  line L (sub-order 7): status: the shop has 1, the service nothing',
    '  line L: the service has no sub-order for it',
    '  sub-order 7: the shop has no line for it any more',
    '  sub-order 7: the shop has no line for it; it stays: odd',
    '  sub-order 8: the shop has no line for it; it stays: foreign',
    '  could not be compared: mileage (the shop has 1): the service does not show this field; user_grade_id: waits; ' +
      'line N (twice); line L: invoice (the shop has 1): the service does not show this field',
  ]);
  expect(said({ isDeletion: true })).toEqual([
    'Shop and service differ',
    '  the shop has deleted the order; a push deletes it at the service',
  ]);
});

/** The columns of a table are told apart by their spaces. */
const drawn = (text: string) => text.replaceAll(/ {2,}/g, '|');
const at = (second: number) => new Date(second * 1000);
const letters = [
  { id: 1, kind: 'order', resolvedAt: null, lastFailedAt: at(1), reason: 'odd' },
  { id: 2, kind: 'line', resolvedAt: at(3), lastFailedAt: at(2), reason: 'old' },
];

test('what is known of an order is said part by part, and so is what is not', () => {
  const unknown = { code: 'A', lines: [], deadLetters: [] };
  const link = { orderId: 1, pushedAt: at(1), dueAt: at(2), failedPushes: 3, sentFields: ['user_phone'] };
  const order = { code: 'A', mileage: '', total_price: '9' };
  const sent = (code: string, status: string | null) => ({ order_code: 'A', line_code: code, status });
  const known = {
    code: 'A',
    link,
    deadLetters: letters,
    fault: 'no date',
    shop: { order, lines: [sent('1', null), sent('2', 'paid')], fault: 'no date' },
    lines: [
      { lineCode: '1', subOrderId: 7, content: { price: '9' } },
      { lineCode: '2', subOrderId: null, content: null },
    ],
    service: { id: 1, code: 'A', sub_orders: [{ id: 7, product_id: 8, price: { cents: 900 }, reviews_count: 2 }] },
  };
  const said = (more: object) => drawn(orderText(more as never));
  for (const part of [
    'It cannot be sent, and would be a dead letter: no date',
    'The order:\nfield|value\ncode|A\ntotal_price|9\n',
    /Lines:\nline_code\|status\n.*1\n.*2\|paid\n/,
    'Last recorded at 1970-01-01 00:00:01, with e-mail and phone.',
    'Due again: 1970-01-01 00:00:02. Failed in a row: 3.',
    /Lines:\nline\|sub-order\|as last sent\n.*1\|7\|{"price":"9"}\n.*2\|being added\|nothing\n/,
    /Sub-orders:\n.*\n.*7\|8\|900\|/,
    /Dead letters\n.*\n.*1\|order\|open\|.*\|odd\n.*2\|line\|closed 1970-01-01 00:00:03\|.*\|old\n/,
  ])
    expect(said(known)).toMatch(part);
  const never = { pushedAt: null, dueAt: null, failedPushes: 0, sentFields: ['user_name'] };
  for (const part of ['The shop has no order A.', 'Never recorded, without e-mail and phone.'])
    expect(said({ ...unknown, link: never, lookupFault: 'down' })).toContain(part);
});

test('what is known of a review is said part by part, and so is what is not', () => {
  const unknown = { id: 1, windows: [], deadLetters: [], differences: [] };
  const windows = [{ axis: 'created', runId: 'r1', startAt: at(1), endAt: at(2), startedAt: at(3), reviews: 4 }];
  const found = { service: { id: 1 }, warehouse: { score: 5 }, deadLetters: letters };
  const said = (more: object) => drawn(reviewText({ ...unknown, ...more } as never));
  for (const part of [
    /The review:\nfield\|value\nscore\|.*5\n/,
    'Suspected gone: missed at 1970-01-01 00:00:04 by r2.',
    '\naxis|from|to|read at|run\ncreated|1970-01-01 00:00:01|1970-01-01 00:00:02|1970-01-01 00:00:03|r1\n',
    'Service and warehouse agree.',
  ])
    expect(said({ ...found, windows, missed: { at: at(4), runId: 'r2' } })).toMatch(part);
  expect(said({})).toContain('Neither the service nor the warehouse shows it.');
  const missing = { service: { id: 1 }, differences: [{ kind: 'missing' }] };
  expect(said(missing)).toContain('The warehouse lacks it: run review-sync backfill reviews over the day');
  expect(said({ ...missing, deadLetters: letters })).toContain('the dead letter gives the reason');
});

test('the operator who asks sees eighty characters of a value', () => {
  const shown = ['x'.repeat(80), `${'x'.repeat(79)}…`, '1970-01-01T00:00:00.000Z', '{"a":1}', 'nothing'];
  expect(['x'.repeat(80), 'x'.repeat(81), at(0), { a: 1 }, ''].map(valueText)).toEqual(shown);
});
