import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isExactly } from '../../src/orders/plan/same-value.ts';
import { type Line, type LineLink, subOrderDifference } from '../../src/orders/plan/sub-orders.ts';
import type { SubOrder } from '../../src/review-api/index.ts';

type Content = Line['content'];

const line = (lineCode: string, content: Partial<Content> = {}): Line => ({
  lineCode,
  content: { product_id: 1, price: '10', product_options: {}, ...content },
});
const [small, medium] = [{ product_options: { size: 'S' } }, { product_options: { size: 'M' } }];

/** A sub-order as the service shows it: money in hundredths, options in its own order. */
const shownAs = (id: number, { content }: Pick<Line, 'content'>, more: Partial<SubOrder> = {}): SubOrder => ({
  id,
  product_id: content.product_id,
  product_options: Object.fromEntries(Object.entries(content.product_options ?? {}).reverse()),
  price: { cents: Math.round(Number(content.price) * 100), currency_iso: 'KRW' },
  status: content.status ?? null,
  delivery_started_at: null,
  delivered_at: null,
  invoice: content.invoice ?? null,
  delivery_service: '',
  reviews_count: 0,
  ...more,
});

const linked = (one: Line, subOrderId: number, more: Partial<LineLink> = {}): LineLink => ({
  ...one,
  subOrderId,
  isOurs: true,
  idsBefore: null,
  ...more,
});
/** A creation that was sent, and whose outcome is not known. */
const pending = (one: Line, idsBefore: number[] = []): LineLink => ({
  ...one,
  subOrderId: null,
  isOurs: true,
  idsBefore,
});

type Given = { shown?: SubOrder[]; lines?: Line[]; links?: LineLink[]; untouched?: string[] };

/**
 * What a push would do, in a few words: `'1 has 11'`, `'create 2'`. Unchanged sub-orders of their own lines are left
 * out.
 */
function effects({ shown = [], lines = [], links = [], untouched = [] }: Given): string[] {
  const difference = subOrderDifference(shown, lines, links, new Set(untouched));
  const { matched, create, remove, keep } = difference;
  const own = new Map(links.map(({ lineCode, subOrderId }) => [lineCode, subOrderId]));
  return [
    ...matched.flatMap(({ lineCode, subOrderId, patch }) => [
      ...(own.get(lineCode) === subOrderId ? [] : [`${lineCode} gets ${subOrderId}`]),
      ...(Object.keys(patch).length > 0 ? [`change ${subOrderId}: ${Object.keys(patch).sort().join(', ')}`] : []),
    ]),
    ...create.map(({ lineCode, isSentAgain }) => `create ${lineCode}${isSentAgain ? ' again' : ''}`),
    ...remove.map(({ subOrderId }) => `remove ${subOrderId}`),
    ...keep.map(({ subOrderId, why }) => `keep ${subOrderId}: ${why}`),
    ...links.flatMap(({ lineCode }) =>
      difference.links.some((one) => one.lineCode === lineCode) ? [] : [`forget ${lineCode}`],
    ),
  ];
}

const hasReviews = 'it has, or may have, reviews';
const isForeign = 'review-sync did not create it';

describe('lines and sub-orders', () => {
  test('of similar sub-orders a line gets the one with its options', () => {
    const shown = [shownAs(5, line('', medium)), shownAs(6, line('', { ...small, price: '12' }))];
    expect(effects({ shown, lines: [line('1', small)] })).toEqual([
      '1 gets 6',
      'change 6: price',
      `keep 5: ${isForeign}`,
    ]);
  });

  test('a line that was given a new code keeps its sub-order, and that of a removed line comes before a foreign one', () => {
    const shown = [shownAs(2, line('')), shownAs(3, line(''), { reviews_count: 4 })];
    expect(effects({ shown, lines: [line('new')], links: [linked(line('old'), 3)] })).toEqual([
      'new gets 3',
      `keep 2: ${isForeign}`,
      'forget old',
    ]);
  });

  test('a foreign sub-order that a line takes over stays foreign: it is not removed with the line', () => {
    const { links } = subOrderDifference([shownAs(2, line('1'))], [line('1')], []);
    expect(links).toMatchObject([{ lineCode: '1', subOrderId: 2, isOurs: false }]);
  });

  test('1,000 lines are matched with as many sub-orders, with and without links', () => {
    const lines = Array.from({ length: 1000 }, (_, at) => line(`${at}`, { price: `${at % 3}` }));
    const shown = lines.map((one, at) => shownAs(at + 1, one)).reverse();
    expect(subOrderDifference(shown, lines, []).matched).toHaveLength(1000);
    expect(effects({ shown, lines, links: lines.map((one, at) => linked(one, at + 1)) })).toEqual([]);
    const others = lines.map((one, at) =>
      shownAs(at + 1, { content: { ...one.content, product_options: { at: `${at}` }, price: '9' } }),
    );
    const ids = others.map(({ id }) => id);
    const links = lines.map((one) => pending(one, ids));
    expect(subOrderDifference(others, lines, links).create).toHaveLength(1000);
  });
});

describe('what is sent', () => {
  test('only the fields that differ are sent, and those that the shop has cleared are null', () => {
    const now = line('1', { status: 'delivery_started' });
    const shown = [shownAs(3, line('1', { status: 'paid', invoice: 'A' }))];
    const [only] = subOrderDifference(shown, [now], [linked(now, 3)]).matched;
    expect(only).toMatchObject({ patch: { status: 'delivery_started', invoice: null }, isHidden: false });
    expect(only?.fields).toEqual([
      { field: 'status', shop: 'delivery_started', service: 'paid', isShown: true },
      { field: 'invoice', shop: null, service: 'A', isShown: true },
    ]);
  });

  test.each<[string, Partial<SubOrder>]>([
    ['price', { price: { cents: 1, currency_iso: 'EUR' } }],
    ['status', { status: 'delivered' }],
    ['invoice', { invoice: 'I' }],
    ['delivered_at', { delivered_at: '2026-11-02T00:00:00Z' }],
    ['delivery_started_at', { delivery_started_at: '2026-11-02T00:00:00Z' }],
    ['delivery_service', { delivery_service: 'post' }],
    ['product_options', { product_options: { size: 'XL' } }],
    ['product_id', { product_id: 8 }],
  ])('%s that differs is sent again', (field, more) => {
    const one = line('1', { status: 'paid' });
    expect(effects({ shown: [shownAs(3, one, more)], lines: [one], links: [linked(one, 3)] })).toEqual([
      `change 3: ${field}`,
    ]);
  });

  test.each(['status', 'invoice', 'delivered_at', 'delivery_service', 'product_options', 'price'] as const)(
    '%s that the response lacks is sent if the shop has it, and counts as not shown',
    (field) => {
      const day = '2026-11-02T00:00:00+00:00';
      const full = line('1', { ...small, status: 'paid', invoice: 'I', delivered_at: day, delivery_service: 'post' });
      const { [field]: _, ...rest } = shownAs(3, full, { delivered_at: day, delivery_service: 'post' });
      const shown = [(field === 'price' ? { ...rest, price: null } : rest) as SubOrder];
      const [only] = subOrderDifference(shown, [full], [linked(full, 3)]).matched;
      expect(only?.fields).toMatchObject([{ field, service: null, isShown: false }]);
      expect(Object.keys(only?.patch ?? {})).toEqual([field]);
      const bare = line('1');
      const nothing = field === 'price' ? {} : { [field]: undefined };
      expect(effects({ shown: [shownAs(3, bare, nothing)], lines: [bare], links: [linked(bare, 3)] })).toEqual([]);
    },
  );

  test('a status that the shop does not have is never cleared: the service shows one of its own', () => {
    const one = line('1');
    const shown = [shownAs(3, one, { status: 'created' })];
    expect(effects({ shown, lines: [one], links: [linked(one, 3)] })).toEqual([]);
  });

  test('a linked sub-order that the service does not show is sent whole, and no other one is taken in its place', () => {
    const one = line('1', { ...small, status: 'paid' });
    const given = { shown: [shownAs(4, one)], lines: [one], links: [linked(one, 3)] };
    expect(effects(given)).toEqual(['change 3: price, product_id, product_options, status', `keep 4: ${isForeign}`]);
    expect(subOrderDifference(given.shown, given.lines, given.links).matched).toMatchObject([{ isHidden: true }]);
  });
});

describe('what is removed', () => {
  test('a sub-order with reviews, with an unknown number of them, or that somebody else created stays', () => {
    const gone = line('1');
    const of = (subOrder: SubOrder, more: Partial<LineLink>) =>
      effects({ shown: [subOrder], links: [linked(gone, 3, more)] });
    expect(of(shownAs(3, gone), {})).toEqual(['remove 3']);
    expect(of(shownAs(3, gone, { reviews_count: 1 }), {})).toEqual([`keep 3: ${hasReviews}`]);
    expect(of(shownAs(3, gone, { reviews_count: null }), {})).toEqual([`keep 3: ${hasReviews}`]);
    expect(of(shownAs(3, gone), { isOurs: false })).toEqual([`keep 3: ${isForeign}`]);
    expect(effects({ shown: [shownAs(3, gone)] })).toEqual([`keep 3: ${isForeign}`]);
  });

  test('a removed line whose sub-order is not shown is forgotten', () => {
    expect(effects({ links: [linked(line('1'), 3)] })).toEqual(['forget 1']);
  });
});

describe('a creation whose response was lost', () => {
  const one = line('1');
  const links = [pending(one, [5])];
  const before = shownAs(5, one);

  test('is found again among the sub-orders that were not there before, although the line has changed since', () => {
    const now = line('1', { price: '12' });
    const shown = [before, shownAs(9, one)];
    expect(effects({ shown, lines: [now], links })).toEqual(['1 gets 9', 'change 9: price', `keep 5: ${isForeign}`]);
    expect(subOrderDifference(shown, [now], links).links).toMatchObject([{ subOrderId: 9, isOurs: true }]);
  });

  test('leaves the sub-order that is exactly that of another one to that one', () => {
    const [s, m] = [line('s', small), line('m', medium)];
    const given = { shown: [shownAs(5, s)], links: [pending(m), pending(s)] };
    expect(effects({ ...given, lines: [m, s] })).toEqual(['s gets 5', 'create m again']);
  });

  test('is sent again where it is not shown, with what was there before the first request', () => {
    const shown = [shownAs(5, line('', { product_id: 9 })), shownAs(6, line('', { product_id: 9 }))];
    expect(effects({ shown, lines: [one], links })).toContain('create 1 again');
    expect(subOrderDifference(shown, [one], links).links).toEqual(links);
    expect(subOrderDifference(shown, [one], []).links).toEqual([pending(one, [5, 6])]);
  });

  test('is removed with its line only where it is exactly as it was sent', () => {
    expect(effects({ shown: [shownAs(9, one)], links })).toEqual(['remove 9']);
    const other = shownAs(9, one, { price: { cents: 7, currency_iso: 'KRW' } });
    expect(effects({ shown: [other], links })).toEqual([`keep 9: ${isForeign}`, 'forget 1']);
  });

  test.each<[string, LineLink]>([
    ['the second response came', linked(one, 11, { idsBefore: [5] })],
    ['both responses were lost', pending(one, [5])],
  ])('leaves no copy where it was sent twice and %s, unless the copy has reviews', (_, link) => {
    const of = (more: Partial<SubOrder>) => {
      const shown = [before, shownAs(11, one), shownAs(12, one, more)];
      return effects({ shown, lines: [one], links: [link] }).filter(
        (effect) => effect.endsWith('12') || effect.includes('12:'),
      );
    };
    expect(of({})).toEqual(['remove 12']);
    expect(of({ reviews_count: 2 })).toEqual([`keep 12: ${hasReviews}`]);
    expect(of({ price: { cents: 1, currency_iso: 'KRW' } })).toEqual([`keep 12: ${isForeign}`]);
  });

  test('stays watched once it is found: another request for it may be carried out late', () => {
    const [link] = subOrderDifference([before, shownAs(11, one)], [one], links).links;
    expect(link).toEqual(linked(one, 11, { idsBefore: [5] }));
    const later = [before, shownAs(11, one), shownAs(12, one)];
    expect(effects({ shown: later, lines: [one], links: [link as LineLink] })).toContain('remove 12');
  });

  test('has a copy that another line may take, and that is ours then', () => {
    const shown = [shownAs(11, one), shownAs(12, one)];
    const watched = [linked(one, 11, { idsBefore: [] })];
    expect(effects({ shown, lines: [one, line('2')], links: watched })).toEqual(['2 gets 12']);
    expect(subOrderDifference(shown, [one, line('2')], watched).links).toMatchObject([
      {},
      { lineCode: '2', isOurs: true },
    ]);
  });

  test('a sub-order that is not as the creation without a response was sent is somebody else’s', () => {
    const [one, other] = [line('1', small), line('2', medium)];
    const shown = [shownAs(11, one), shownAs(12, other)];
    const { links } = subOrderDifference(shown, [one, other], [linked(one, 11, { idsBefore: [] })]);
    expect(links).toMatchObject([{ lineCode: '1' }, { lineCode: '2', subOrderId: 12, isOurs: false }]);
  });
});

/**
 * A service that holds one order, and what is remembered of it. `isHidden`: the response to the order does not show the
 * sub-order.
 */
type World = { stored: { subOrder: SubOrder; isForeign: boolean; isHidden: boolean }[]; links: LineLink[] };
type Push = { lines: Line[]; untouched: ReadonlySet<string> };

/** Pushes until no request meets a 404, as push-order.ts does. @returns the differences, one a round. */
function push(world: World, { lines, untouched }: Push) {
  const rounds: ReturnType<typeof subOrderDifference>[] = [];
  for (let isAgain = true; isAgain && rounds.length < 3; ) {
    isAgain = false;
    const shown = world.stored.flatMap(({ subOrder, isHidden }) => (isHidden ? [] : subOrder));
    const difference = subOrderDifference(shown, lines, world.links, untouched);
    rounds.push(difference);
    const links = new Map(difference.links.map((link) => [link.lineCode, link]));
    for (const { lineCode, subOrderId, content, patch } of difference.matched) {
      if (Object.keys(patch).length === 0) continue;
      const one = world.stored.find(({ subOrder }) => subOrder.id === subOrderId);
      if (!one) isAgain = links.delete(lineCode);
      else {
        one.subOrder = patched(one.subOrder, patch as Record<string, unknown>);
        links.set(lineCode, { ...(links.get(lineCode) as LineLink), content });
      }
    }
    for (const { lineCode, subOrderId } of difference.remove) {
      world.stored = world.stored.filter(({ subOrder }) => subOrder.id !== subOrderId);
      if (links.get(lineCode)?.subOrderId === subOrderId) links.delete(lineCode);
    }
    for (const { isSentAgain, ...created } of difference.create) {
      const id = Math.max(1000, ...world.stored.map(({ subOrder }) => subOrder.id)) + 1;
      world.stored.push({ subOrder: shownAs(id, created), isForeign: false, isHidden: false });
      const idsBefore = isSentAgain ? (links.get(created.lineCode)?.idsBefore ?? null) : null;
      links.set(created.lineCode, linked(created, id, { idsBefore }));
    }
    world.links = [...links.values()];
  }
  return rounds;
}

function patched(subOrder: SubOrder, { price, product_options, ...others }: Record<string, unknown>): SubOrder {
  return {
    ...subOrder,
    ...others,
    ...(price !== undefined && { price: { cents: Math.round(Number(price) * 100), currency_iso: 'KRW' } }),
    ...(product_options !== undefined && { product_options: (product_options ?? {}) as Record<string, string> }),
  };
}

const content: fc.Arbitrary<Content> = fc
  .record({
    product_id: fc.constantFrom(1, 1, 2),
    price: fc.constantFrom('10', '10', '10.5'),
    product_options: fc.constantFrom({}, { size: 'S' }, { size: 'M' }, { size: 'S', colour: 'red' }),
    status: fc.constantFrom(undefined, 'paid', 'delivered'),
    invoice: fc.constantFrom(undefined, 'I'),
  })
  .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as Content);

const histories = [
  ...(['linked', 'linked', 'linked', 'linked to a foreign one', 'hidden', 'gone', 'lost', 'lost and made'] as const),
  ...(['sent twice, made once', 'sent twice, made twice', 'watched', 'watched with a copy'] as const),
];
type History = (typeof histories)[number];

const order = fc.record({
  foreign: fc.array(content, { maxLength: 3 }),
  before: fc.array(
    fc.record({
      content,
      drift: fc.option(content, { freq: 6 }),
      history: fc.constantFrom<History>(...histories),
      fate: fc.constantFrom('same', 'same', 'changed', 'removed', 'new code', 'untouched'),
      now: content,
    }),
    { maxLength: 5 },
  ),
  added: fc.array(content, { maxLength: 3 }),
  reviews: fc.array(fc.constantFrom(0, 0, 0, 2, null), { minLength: 20, maxLength: 20 }),
  isReversed: fc.boolean(),
});
type Generated = typeof order extends fc.Arbitrary<infer T> ? T : never;

/**
 * The world of an order before the push, and the shop's lines. Somebody else created its sub-orders before review-sync
 * did.
 */
function worldOf({ foreign, before, added, reviews, isReversed }: Generated) {
  const world: World = { stored: [], links: [] };
  let id = 0;
  const make = (of: Content, how: { isForeign?: boolean; isHidden?: boolean } = {}) => {
    id += 1;
    const subOrder = shownAs(id, { content: of }, { reviews_count: reviews[id] as number | null });
    world.stored.push({ subOrder, isForeign: false, isHidden: false, ...how });
    return id;
  };
  for (const one of foreign) make(one, { isForeign: true });
  for (const [at, { content: sent, history }] of before.entries())
    if (history === 'linked to a foreign one')
      world.links.push(
        linked({ lineCode: `${at}`, content: sent }, make(sent, { isForeign: true }), { isOurs: false }),
      );
  const ids = world.stored.map(({ subOrder }) => subOrder.id);
  const made = new Map<string, number>();
  for (const [at, { content: sent, history, drift }] of before.entries()) {
    const one = { lineCode: `${at}`, content: sent };
    const remember = (link: LineLink, requests = 0) => {
      world.links.push(link);
      made.set(one.lineCode, requests);
      for (let number = 0; number < requests; number += 1) make(sent);
    };
    if (history === 'linked') remember(linked(one, make(drift ?? sent)));
    if (history === 'hidden') remember(linked(one, make(drift ?? sent, { isHidden: true })));
    if (history === 'gone') remember(linked(one, 10_000 + at));
    if (history === 'lost') remember(pending(one, ids));
    if (history === 'lost and made' || history === 'sent twice, made once') remember(pending(one, ids), 1);
    if (history === 'sent twice, made twice') remember(pending(one, ids), 2);
    if (history === 'watched') remember(linked(one, make(sent), { idsBefore: ids }));
    if (history === 'watched with a copy') remember(linked(one, make(sent), { idsBefore: ids }), 1);
  }
  if (isReversed) world.stored.reverse();
  const lines = before.flatMap(({ content: sent, fate, now }, at) => {
    if (fate === 'removed' || fate === 'untouched') return [];
    return [{ lineCode: fate === 'new code' ? `${at} new` : `${at}`, content: fate === 'changed' ? now : sent }];
  });
  const untouched = new Set(before.flatMap(({ fate }, at) => (fate === 'untouched' ? [`${at}`] : [])));
  const shop = { lines: [...lines, ...added.map((one, at) => ({ lineCode: `added ${at}`, content: one }))], untouched };
  return { world, shop, made };
}

const numRuns = Number(process.env.PROPERTY_RUNS ?? 2000);
/** The world of an order before and after its push, and the rounds of the push. */
function pushed(generated: Generated) {
  const { world, shop, made } = worldOf(generated);
  const before = structuredClone(world);
  const rounds = push(world, shop);
  return { before, after: world, shop, made, rounds };
}
const storedOf = ({ stored }: World, id: number | null | undefined) =>
  stored.find(({ subOrder }) => subOrder.id === id);

/** What holds after the push of a random order. The last one pushes once more. */
const claims: Record<string, (push: ReturnType<typeof pushed>) => void> = {
  'each line has one sub-order with its content, and no two lines have the same'({ after, shop }) {
    const ids = after.links.map(({ subOrderId }) => subOrderId).filter((id) => id !== null);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { lineCode, content: wanted } of shop.lines) {
      const link = after.links.find((one) => one.lineCode === lineCode);
      const one = storedOf(after, link?.subOrderId)?.subOrder as SubOrder;
      expect(one).toBeDefined();
      expect(isExactly(one, wanted, undefined)).toBe(true);
      if (wanted.status) expect(one.status).toBe(wanted.status);
      const isHidden = storedOf(after, link?.subOrderId)?.isHidden;
      if (!isHidden) expect(one.invoice).toBe(wanted.invoice ?? null);
    }
  },

  'nothing of ours is left over, but for what has reviews and what the service does not show'({ after }) {
    const ids = new Set(after.links.map(({ subOrderId }) => subOrderId));
    // A creation for a line that is not pushed now stays open.
    const open = after.links.filter(({ subOrderId }) => subOrderId === null);
    const left = after.stored.filter(
      ({ subOrder, isForeign, isHidden }) =>
        !isForeign && !isHidden && subOrder.reviews_count === 0 && !ids.has(subOrder.id),
    );
    for (const { subOrder } of left)
      expect(open.some((link) => isExactly(subOrder, link.content, undefined))).toBe(true);
  },

  'a sub-order with reviews, or that somebody else created, was not removed'({ before, after }) {
    for (const { subOrder, isForeign } of before.stored) {
      if (isForeign || subOrder.reviews_count !== 0) expect(storedOf(after, subOrder.id)).toBeDefined();
    }
  },

  'sizes were not mixed where there was an exact sub-order'({ before, shop, rounds: [first] }) {
    const hadLink = new Set(before.links.map(({ lineCode }) => lineCode));
    const contentOf = new Map(shop.lines.map((one) => [one.lineCode, one.content]));
    const isExact = (id: number, lineCode: string) => {
      const { subOrder } = storedOf(before, id) as World['stored'][number];
      return isExactly(subOrder, contentOf.get(lineCode) as Content, undefined);
    };
    const fresh = (first?.matched ?? []).filter(({ lineCode }) => !hadLink.has(lineCode));
    const inexact = fresh.filter(({ lineCode, subOrderId }) => !isExact(subOrderId, lineCode));
    const created = (first?.create ?? []).filter(({ lineCode }) => !hadLink.has(lineCode));
    const unused = [...(first?.remove ?? []), ...(first?.keep ?? [])].map(({ subOrderId }) => subOrderId);
    for (const { lineCode } of [...inexact, ...created]) {
      for (const id of [...inexact.map(({ subOrderId }) => subOrderId), ...unused])
        expect(isExact(id, lineCode)).toBe(false);
    }
    // Similar is the product and one of the other two.
    for (const { subOrderId, patch } of inexact) {
      expect(patch).not.toHaveProperty('product_id');
      expect(Object.keys(patch)).not.toEqual(expect.arrayContaining(['price', 'product_options']));
      expect(storedOf(before, subOrderId)).toBeDefined();
    }
  },

  'a creation that was carried out although its response was lost was not sent again'({ before, made, rounds }) {
    const open = before.links.filter(({ subOrderId }) => subOrderId === null).map(({ lineCode }) => lineCode);
    const notMade = open.filter((lineCode) => made.get(lineCode) === 0);
    const again = rounds.flatMap(({ create }) => create.filter(({ lineCode }) => open.includes(lineCode)));
    expect(again.length).toBeLessThanOrEqual(notMade.length);
  },

  'the sub-orders of lines that are not pushed now are as before'({ before, after, shop }) {
    for (const link of before.links) {
      if (!shop.untouched.has(link.lineCode)) continue;
      expect(after.links).toContainEqual(link);
      expect(storedOf(after, link.subOrderId)).toEqual(storedOf(before, link.subOrderId));
    }
  },

  'another push sends nothing, but for fields that were cleared while the service did not show the sub-order'({
    after,
    shop,
  }) {
    const ids = new Set(after.links.map(({ subOrderId }) => subOrderId));
    const wasHidden = new Set<number>();
    for (const one of after.stored) {
      // What is hidden and has no line any more is forgotten: review-sync does not know it when it is shown again.
      if (!one.isHidden || !ids.has(one.subOrder.id)) continue;
      wasHidden.add(one.subOrder.id);
      one.isHidden = false;
    }
    const { links } = after;
    const [again] = push(after, shop);
    expect(again).toMatchObject({ create: [], remove: [], links });
    for (const { subOrderId, patch } of again?.matched ?? []) {
      const left = Object.values(patch).filter((value) => !wasHidden.has(subOrderId) || value !== null);
      expect(left).toEqual([]);
    }
  },
};

test(`after the push of a random order: ${Object.keys(claims).join('; ')}`, () => {
  const claim = (generated: Generated) => {
    const push = pushed(generated);
    for (const holds of Object.values(claims)) holds(push);
  };
  fc.assert(fc.property(order, claim), { numRuns });
});
