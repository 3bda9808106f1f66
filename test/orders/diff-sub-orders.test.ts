import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diffSubOrders, type Line, type LineLink } from '../../src/orders/diff-sub-orders.ts';
import { isSamePrice } from '../../src/orders/same-content.ts';
import type { SubOrder } from '../../src/review-api/index.ts';

const line = (lineCode: string, content: Partial<Line['content']> = {}): Line => ({
  lineCode,
  content: { product_id: 1, price: '10', product_options: {}, ...content },
});

/** A sub-order as the service tells it: money in hundredths, options in its own order. */
function told(id: number, { content }: Line, more: Partial<SubOrder> = {}): SubOrder {
  return {
    id,
    product_id: content.product_id,
    product_options: Object.fromEntries(Object.entries(content.product_options).reverse()),
    price: { cents: Math.round(Number(content.price) * 100), currency_iso: 'KRW' },
    status: content.status ?? null,
    delivery_started_at: null,
    delivered_at: null,
    invoice: content.invoice ?? null,
    delivery_service: '',
    created_at: null,
    updated_at: null,
    reviews_count: 0,
    ...more,
  };
}

const link = (one: Line, subOrderId: number | null, idsBefore: number[] | null = []): LineLink => ({
  ...one,
  subOrderId,
  idsBefore,
});
const nothing = { add: [], change: [], link: [], remove: [], spared: [], forget: [] };

describe('diffSubOrders', () => {
  test('two equal lines stay two, and one that is gone takes one of them', () => {
    const [one, two] = [line('1'), line('2')];
    expect(diffSubOrders([], [one, two], []).add).toEqual([one, two]);
    const links = [link(one, 11), link(two, 12)];
    expect(diffSubOrders([told(11, one), told(12, two)], [one, two], links)).toEqual(nothing);
    expect(diffSubOrders([told(11, one), told(12, two)], [one], links).remove).toEqual([
      { lineCode: '2', subOrderId: 12 },
    ]);
  });

  test('a sub-order whose answer was lost is taken up, though the line has changed since', () => {
    const sent = line('1', { price: '10' });
    const now = line('1', { price: '12' });
    const diff = diffSubOrders([told(5, sent), told(9, sent)], [now], [link(sent, null, [5])]);
    expect(diff).toEqual({ ...nothing, change: [{ ...now, subOrderId: 9, idsBefore: [5], patch: { price: '12' } }] });
  });

  test('only what differs is sent', () => {
    const [pushed, now] = [line('1', { status: 'paid', invoice: 'A' }), line('1', { status: 'delivery_started' })];
    expect(diffSubOrders([told(3, pushed)], [now], [link(pushed, 3)]).change[0]?.patch).toEqual({
      status: 'delivery_started',
      invoice: null,
    });
  });

  test('a sub-order with reviews, with an untold number of them, or not made by this program is never removed', () => {
    const gone = line('1');
    const spared = (subOrder: SubOrder, ids: number[] | null) => diffSubOrders([subOrder], [], [link(gone, 3, ids)]);
    expect(spared(told(3, gone, { reviews_count: 1 }), []).spared).toEqual([
      { lineCode: '1', subOrderId: 3, why: 'reviews' },
    ]);
    expect(spared(told(3, gone, { reviews_count: null }), []).spared).toHaveLength(1);
    expect(spared(told(3, gone), null).spared).toEqual([{ lineCode: '1', subOrderId: 3, why: 'foreign' }]);
    expect(diffSubOrders([told(3, gone)], [], [])).toEqual(nothing);
  });

  test('a line that was given a new code keeps its sub-order', () => {
    const [old, fresh] = [line('old'), line('new')];
    expect(diffSubOrders([told(3, old, { reviews_count: 4 })], [fresh], [link(old, 3)])).toEqual({
      ...nothing,
      link: [{ ...fresh, subOrderId: 3, idsBefore: [] }],
      forget: ['old'],
    });
  });

  test('lines that cannot be pushed now are left as they are', () => {
    const held = line('1');
    expect(diffSubOrders([told(3, held)], [], [link(held, 3)], new Set(['1']))).toEqual(nothing);
  });

  const content = fc.record({
    product_id: fc.integer({ min: 1, max: 3 }),
    price: fc.constantFrom('10', '10.5', '0.3'),
    product_options: fc.dictionary(fc.constantFrom('size', 'colour'), fc.constantFrom('L', 'blue')),
    status: fc.constantFrom('paid', 'delivery_started'),
  });
  const lines = fc.uniqueArray(fc.record({ lineCode: fc.constantFrom('1', '2', '3', '4'), content }), {
    selector: (one) => one.lineCode,
  });

  test('applying the difference brings both ends in line, and what is foreign stays', () => {
    fc.assert(
      // Foreign ones are of another product: one that might be ours is taken for ours, by its content.
      fc.property(
        lines,
        lines,
        fc.array(content, { maxLength: 3 }),
        fc.integer({ min: 0, max: 4 }),
        (before, after, foreign, lost) => {
          const others = foreign.map((one, index) =>
            told(100 + index, { lineCode: '', content: { ...one, product_id: 9 } }, { reviews_count: 1 }),
          );
          const ids = others.map((one) => one.id);
          // What was pushed before; of the last `lost` the answer never came.
          const ours = before.map((one, index) => told(index + 1, one));
          const links = before.map((one, index) => link(one, index >= before.length - lost ? null : index + 1, ids));
          const end = apply([...others, ...ours], links, diffSubOrders([...others, ...ours], after, links));
          expect(diffSubOrders(end.theirs, after, end.links)).toEqual(nothing);
          expect(end.links.map((one) => one.lineCode).sort()).toEqual(after.map((one) => one.lineCode).sort());
          for (const other of others) expect(end.theirs).toContainEqual(other);
          expect(end.theirs.length - others.length).toBeLessThanOrEqual(Math.max(after.length, before.length));
        },
      ),
    );
  });
});

/** The service and the links as they are once the difference has been applied. */
function apply(theirs: SubOrder[], links: LineLink[], diff: ReturnType<typeof diffSubOrders>) {
  const removed = new Set(diff.remove.map((one) => one.subOrderId));
  const changed = new Map(diff.change.map((one) => [one.subOrderId, one]));
  const kept = theirs
    .filter((one) => !removed.has(one.id))
    .map((one) => {
      const change = changed.get(one.id);
      return change ? told(one.id, change, { reviews_count: one.reviews_count }) : one;
    });
  const added = diff.add.map((one, index) => told(1000 + index, one));
  const gone = new Set([
    ...diff.forget,
    ...diff.remove.map((one) => one.lineCode),
    ...diff.spared.map((one) => one.lineCode),
  ]);
  const written = [
    ...diff.link.map((one) => link(one, one.subOrderId, one.idsBefore && [...one.idsBefore])),
    ...diff.change.map((one) => link(one, one.subOrderId, one.idsBefore && [...one.idsBefore])),
    ...diff.add.map((one, index) => link(one, 1000 + index)),
  ];
  const rewritten = new Set(written.map((one) => one.lineCode));
  const rest = links.filter((one) => !gone.has(one.lineCode) && !rewritten.has(one.lineCode));
  return { theirs: [...kept, ...added], links: [...rest, ...written] };
}

describe('isSamePrice', () => {
  test('hundredths and whole units are both taken for the same amount, to the cent', () => {
    expect(isSamePrice({ cents: 2_350_000, currency_iso: 'KRW' }, '23500')).toBe(true);
    expect(isSamePrice({ cents: 23_500, currency_iso: 'KRW' }, '23500.00')).toBe(true);
    expect(isSamePrice({ cents: 1999, currency_iso: 'EUR' }, '19.99')).toBe(true);
    expect(isSamePrice({ cents: 1998, currency_iso: 'EUR' }, '19.99')).toBe(false);
    expect(isSamePrice({ cents: 123_456_789_012_345, currency_iso: 'EUR' }, '1234567890123.45')).toBe(true);
    expect(isSamePrice(null, '1')).toBe(false);
  });
});
