import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diffSubOrders, type Line, type LineLink } from '../../src/orders/order/diff-sub-orders.ts';
import { isSamePrice } from '../../src/orders/order/same-content.ts';
import type { SubOrder } from '../../src/review-api/index.ts';

const line = (lineCode: string, content: Partial<Line['content']> = {}): Line => ({
  lineCode,
  content: { product_id: 1, price: '10', product_options: {}, ...content },
});

/** A sub-order as the service tells it: money in hundredths, options in its own order. */
function atService(id: number, { content }: Line, more: Partial<SubOrder> = {}): SubOrder {
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
  lineCode: one.lineCode,
  content: one.content,
  subOrderId,
  idsBefore,
});
const nothing = {
  create: [],
  change: [],
  remove: [],
  removeDuplicates: [],
  kept: [],
  links: [],
  dropLinks: [],
  unseen: [],
  found: 0,
};

describe('diffSubOrders', () => {
  test('two equal lines stay two, and one that is gone takes one of them', () => {
    const [one, two] = [line('1'), line('2')];
    expect(diffSubOrders([], [one, two], [])).toEqual({
      ...nothing,
      create: [one, two],
      links: [link(one, null), link(two, null)],
    });
    const links = [link(one, 11), link(two, 12)];
    expect(diffSubOrders([atService(11, one), atService(12, two)], [one, two], links)).toEqual(nothing);
    expect(diffSubOrders([atService(11, one), atService(12, two)], [one], links).remove).toEqual([
      { lineCode: '2', subOrderId: 12 },
    ]);
  });

  test('a sub-order whose response was lost is found again, although the line has changed since', () => {
    const sent = line('1', { price: '10' });
    const now = line('1', { price: '12' });
    const diff = diffSubOrders([atService(5, sent), atService(9, sent)], [now], [link(sent, null, [5])]);
    expect(diff).toEqual({
      ...nothing,
      change: [{ ...link(now, 9, [5]), subOrderId: 9, patch: { price: '12' } }],
      links: [link(sent, 9, [5])],
      found: 1,
    });
  });

  test('a line takes no sub-order that is exactly the one of another, whatever their order and whichever line lost it', () => {
    const small = line('1', { product_options: { size: 'S' } });
    const medium = line('2', { product_options: { size: 'M' } });
    for (const lines of [
      [small, medium],
      [medium, small],
    ]) {
      const pending = lines.map((one) => link(one, null));
      const foundAgain = diffSubOrders([atService(5, small)], lines, pending);
      expect(foundAgain).toMatchObject({ create: [medium], change: [], found: 1 });
      const removed = diffSubOrders([atService(5, small)], lines, [link(line('old', small.content), 5)]);
      expect(removed).toMatchObject({ create: [medium], change: [], dropLinks: ['old'] });
      expect(diffSubOrders([atService(5, small)], lines, [])).toMatchObject({ create: [medium], change: [] });
    }
  });

  test('only what differs is sent', () => {
    const [pushed, now] = [line('1', { status: 'paid', invoice: 'A' }), line('1', { status: 'delivery_started' })];
    expect(diffSubOrders([atService(3, pushed)], [now], [link(pushed, 3)]).change[0]?.patch).toEqual({
      status: 'delivery_started',
      invoice: null,
    });
  });

  test('a sub-order with reviews, with an unknown number of them, or created by somebody else is never removed', () => {
    const gone = line('1');
    const kept = (subOrder: SubOrder, ids: number[] | null) => diffSubOrders([subOrder], [], [link(gone, 3, ids)]).kept;
    expect(kept(atService(3, gone, { reviews_count: 1 }), [])).toEqual([
      { lineCode: '1', subOrderId: 3, why: 'has reviews' },
    ]);
    expect(kept(atService(3, gone, { reviews_count: null }), [])).toHaveLength(1);
    expect(kept(atService(3, gone), null)).toEqual([{ lineCode: '1', subOrderId: 3, why: 'unmanaged' }]);
    expect(diffSubOrders([atService(3, gone)], [], [])).toEqual(nothing);
  });

  test('a line that was given a new code keeps its sub-order', () => {
    const [old, fresh] = [line('old'), line('new')];
    expect(diffSubOrders([atService(3, old, { reviews_count: 4 })], [fresh], [link(old, 3)])).toEqual({
      ...nothing,
      links: [link(fresh, 3)],
      dropLinks: ['old'],
    });
  });

  test('lines that cannot be pushed now are not changed', () => {
    const held = line('1');
    expect(diffSubOrders([atService(3, held)], [], [link(held, 3)], new Set(['1']))).toEqual(nothing);
  });

  describe('a creation whose sub-order the service does not show', () => {
    const [one, other] = [line('1'), line('2')];
    const lost = link(one, null, [3]);
    const own = link(one, 11, [3, 5]);

    test('is remembered as it was sent, once for each content, with what was there before the first request', () => {
      const theirs = [atService(3, line('', { product_id: 9 }))];
      expect(diffSubOrders(theirs, [one], []).unseen).toEqual([]);
      expect(diffSubOrders(theirs, [one], [lost])).toMatchObject({ create: [one], unseen: [lost] });
      expect(diffSubOrders(theirs, [], [lost])).toMatchObject({ dropLinks: ['1'], unseen: [lost] });
      const now = { ...one, content: { ...one.content, price: '12' } };
      const [again, changed] = [link(one, null, [3, 5]), link(now, null, [3, 5])];
      expect(diffSubOrders(theirs, [now], [again], undefined, { unseen: [lost] }).unseen).toEqual([lost]);
      expect(diffSubOrders(theirs, [now], [changed], undefined, { unseen: [lost] }).unseen).toEqual([lost, changed]);
    });

    test('is not remembered of a line that is not pushed now, nor of a sub-order that somebody else created', () => {
      expect(diffSubOrders([], [], [lost], new Set(['1'])).unseen).toEqual([]);
      expect(diffSubOrders([], [one], [link(one, 3, null)]).unseen).toEqual([]);
    });

    test.each<[string, Line[], LineLink[]]>([
      ['its line has another sub-order by now', [one], [own]],
      [
        'its line has changed since',
        [{ ...one, content: { ...one.content, price: '12', product_id: 4 } }],
        [link({ ...one, content: { ...one.content, price: '12', product_id: 4 } }, 11)],
      ],
      ['its line is gone', [], []],
    ])('and that appears when %s is removed, unless it has reviews', (_, lines, links) => {
      const ours = links.map((known) => atService(11, known));
      const diff = (more: Partial<SubOrder>) =>
        diffSubOrders([...ours, atService(12, one, more)], lines, links, undefined, { unseen: [lost] });
      expect(diff({})).toEqual({
        ...nothing,
        removeDuplicates: [{ lineCode: '1', subOrderId: 12 }],
        unseen: [lost],
      });
      for (const reviews_count of [2, null])
        expect(diff({ reviews_count })).toEqual({
          ...nothing,
          kept: [{ lineCode: '1', subOrderId: 12, why: 'has reviews' }],
          unseen: [lost],
        });
    });

    test('and that appears when a line needs one is taken over as ours, and holds what was sent', () => {
      const now = line('new', { status: 'paid', price: '12' });
      expect(diffSubOrders([atService(12, one)], [now], [], undefined, { unseen: [lost] })).toEqual({
        ...nothing,
        change: [{ ...link(now, 12, [3]), subOrderId: 12, patch: { price: '12', status: 'paid' } }],
        links: [{ ...link(one, 12, [3]), lineCode: 'new' }],
        unseen: [lost],
      });
    });

    test('is no weaker match of a line whose own creation may appear yet', () => {
      const now = line('1', { price: '12' });
      const pending = link(now, null, [3]);
      const diff = diffSubOrders([atService(12, one)], [now], [pending], undefined, { unseen: [lost] });
      expect(diff).toMatchObject({ change: [{ subOrderId: 12, patch: { price: '12' } }], unseen: [lost, pending] });
    });

    test('is found by its id where it was linked before', () => {
      const before = link(one, 12, [3]);
      const now = line('1', { price: '12' });
      expect(diffSubOrders([], [now], [before]).unseen).toEqual([before]);
      const theirs = [atService(11, now), atService(12, one), atService(13, one)];
      const diff = diffSubOrders(theirs, [now], [link(now, 11)], undefined, { unseen: [before] });
      expect(diff.removeDuplicates).toEqual([{ lineCode: '1', subOrderId: 12 }]);
    });

    test('is no sub-order of another line, and none that was there before or differs', () => {
      const theirs = [
        atService(3, one),
        atService(11, one),
        atService(12, other),
        atService(13, line('', { price: '7' })),
      ];
      const links = [own, link(other, 12)];
      expect(diffSubOrders(theirs, [one, other], links, undefined, { unseen: [lost] })).toEqual({
        ...nothing,
        unseen: [lost],
      });
    });
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
            atService(100 + index, { lineCode: '', content: { ...one, product_id: 9 } }, { reviews_count: 1 }),
          );
          const ids = others.map((one) => one.id);
          // What was pushed before; of the last `lost` the answer never came.
          const ours = before.map((one, index) => atService(index + 1, one));
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
  const left = theirs
    .filter((one) => !removed.has(one.id))
    .map((one) => {
      const change = changed.get(one.id);
      return change ? atService(one.id, change, { reviews_count: one.reviews_count }) : one;
    });
  const added = diff.create.map((one, index) => atService(1000 + index, one));
  const byCode = new Map(links.map((one) => [one.lineCode, one]));
  for (const lineCode of diff.dropLinks) byCode.delete(lineCode);
  for (const one of diff.links) byCode.set(one.lineCode, one);
  for (const { lineCode } of diff.remove) byCode.delete(lineCode);
  for (const one of diff.change)
    byCode.set(one.lineCode, link(one, one.subOrderId, one.idsBefore && [...one.idsBefore]));
  for (const [index, one] of diff.create.entries()) byCode.set(one.lineCode, link(one, 1000 + index));
  return { theirs: [...left, ...added], links: [...byCode.values()] };
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
