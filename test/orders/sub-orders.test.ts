import { describe, expect, test } from 'vitest';
import type { Line } from '../../src/orders/plan/desired-order.ts';
import { type LineLink, subOrderDifference } from '../../src/orders/plan/sub-orders.ts';
import type { SubOrder } from '../../src/review-api/index.ts';

type Content = Line['content'];

const line = (lineCode: string, content: Partial<Content> = {}): Line => ({
  lineCode,
  content: { product_id: 1, price: '10', product_options: {}, ...content },
});
const small = { product_options: { size: 'S' } };

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

const linked = (one: Line, subOrderId: number | null, more: Partial<LineLink> = {}): LineLink => ({
  ...one,
  subOrderId,
  isOurs: true,
  idsBefore: null,
  ...more,
});

type Given = { shown?: SubOrder[]; lines?: Line[]; links?: LineLink[]; untouched?: string[] };

const whyKept: Record<string, string> = {
  'it has, or may have, reviews': 'reviewed',
  'review-sync did not create it': 'foreign',
};

/**
 * What a push would do, in a few words: `'1 gets 11'`, `'create 2 [11]'`. Behind them: `ours` if the link says that we
 * created the sub-order, and what was there before its creation. Unchanged sub-orders of their own lines are left out.
 */
function effects({ shown = [], lines = [], links = [], untouched = [] }: Given): string[] {
  const difference = subOrderDifference(shown, lines, links, { untouched: new Set(untouched) });
  const { matched, create, remove, keep } = difference;
  const own = new Map(links.map((link) => [link.lineCode, link]));
  const after = new Map(difference.links.map((link) => [link.lineCode, link]));
  for (const line of lines) {
    const [before, now] = [own.get(line.lineCode), after.get(line.lineCode)];
    // Until a change is carried out, a link has what was sent of its sub-order.
    const sent = links.find(({ subOrderId }) => subOrderId === (now?.subOrderId ?? 0)) ?? before;
    const isChanged = matched.some(({ lineCode, fields }) => lineCode === line.lineCode && fields.length > 0);
    expect(now?.content).toEqual((isChanged && sent ? sent : line).content);
  }
  const linkOf = (lineCode: string) => {
    const { isOurs, idsBefore } = after.get(lineCode) as LineLink;
    return `${isOurs ? ' ours' : ''}${idsBefore ? ` ${JSON.stringify(idsBefore)}` : ''}`;
  };
  const isRemembered = ({ lineCode, subOrderId }: LineLink) =>
    difference.links.some((link) =>
      subOrderId === null ? link.lineCode === lineCode : link.subOrderId === subOrderId,
    );
  return [
    ...matched.flatMap(({ lineCode, subOrderId, body }) => [
      ...(own.get(lineCode)?.subOrderId === subOrderId ? [] : [`${lineCode} gets ${subOrderId}${linkOf(lineCode)}`]),
      ...(Object.keys(body).length > 0 ? [`change ${subOrderId}: ${Object.keys(body).sort().join(', ')}`] : []),
    ]),
    ...create.map(({ lineCode, isSentAgain }) =>
      `create ${lineCode}${isSentAgain ? ' again' : ''}${linkOf(lineCode)}`.replace(' ours', ''),
    ),
    ...remove.map(({ subOrderId }) => `remove ${subOrderId}`),
    ...keep.map(({ subOrderId, why }) => `keep ${subOrderId} ${whyKept[why]}`),
    ...links.flatMap((one) => (isRemembered(one) ? [] : [`forget ${one.lineCode}`])),
  ];
}

/**
 * A case is its title and lines of `sub-orders shown | lines | links | what a push does`.
 *
 * Products: `s` and `m` are sizes of product 1, `plain` is product 1 without a size, `p2` is product 2. `$99` is the
 * price, if not 10, and `#P` the product code. A sub-order with a review ends with `*`, one that may have reviews with
 * `?`. `-s`: the service has deleted the product. A link is `line:product=sub-order`, with `~` if another integration created that. A creation without a response
 * has the sub-orders before it, `line:product=[5]`; so has a link whose creation may have been carried out twice,
 * `line:product=11[5]`. `!` before a link: its line is not pushed now.
 */
const cases = `
exact comes before similar, and similar is product and options
  5:m 6:s$99 | 1:s | | 1 gets 6; change 6: price; keep 5 foreign
or product and price, not the product alone
  5:m 6:m$99 | 1:s 2:s | | 1 gets 5; change 5: product_options; create 2 [5,6]; keep 6 foreign
a sub-order of another product is never similar
  5:p2 | 1:plain | | create 1 [5]; keep 5 foreign
a line with a new code keeps its sub-order, before a foreign one as similar
  2:s 3:s | new:s | old:s=3 | keep 2 foreign; new gets 3 ours
an exact foreign one comes before a similar one of a removed line
  2:s 3:m | new:s | old:m=3 | new gets 2; remove 3
codes that are positions move with their products when a line is removed
  11:s 12:p2 | 1:p2 | 1:s=11 2:p2=12 | 1 gets 12 ours; remove 11
or is inserted before them
  11:s 12:m | 1:p2 2:s 3:m | 1:s=11 2:m=12 | 2 gets 11 ours; 3 gets 12 ours; create 1 [11,12]
  11:s* 12:s$99 | 1:m 2:s 3:s$99 | 1:s=11 2:s$99=12 | 2 gets 11 ours; 3 gets 12 ours; create 1 [11,12]
or are swapped
  11:s* 12:p2 | 1:p2 2:s | 1:s=11 2:p2=12 | 1 gets 12 ours; 2 gets 11 ours
a sub-order that may have reviews gets no other product; its line gets a new one
  11:s? 13:m | 1:p2 | 1:s=11 | create 1 [11,13]; keep 11 reviewed; keep 13 foreign
nor does one that a lost creation made; a line that is exactly so takes it
  11:s* 12:m* | 1:p2 2:s 3:p2 | 1:s=[] 3:m=[] | 2 gets 11 ours []; create 1 again []; create 3 again []; keep 12 reviewed
one without does, its own
  11:s* 12:m | 1:p2 2:p3 | 1:s=11 2:m=12 | change 12: product_id, product_options; create 1 [11,12]; keep 11 reviewed
or another that is free
  11:s* 12:m 13:p2 | 1:p3 2:p2 | 1:s=11 2:m=12 3:p2=13 | 1 gets 12 ours; 2 gets 13 ours; change 12: product_id, product_options; keep 11 reviewed
codes move with the sizes of one product, and a review stays with its size
  11:s* 12:m* | 1:m | 1:s=11 2:m=12 | 1 gets 12 ours; keep 11 reviewed
or with prices
  11:s 12:s$99 | 1:s$99 | 1:s=11 2:s$99=12 | 1 gets 12 ours; remove 11
though all prices have changed meanwhile
  11:s 12:m* 13:p2 | 1:m$8 2:p2$9 | 1:s=11 2:m=12 3:p2=13 | 1 gets 12 ours; change 12: price; 2 gets 13 ours; change 13: price; remove 11
also if two lines have changed places
  11:s* 12:p2* | 1:p2$8 2:s$9 | 1:s=11 2:p2=12 | 1 gets 12 ours; change 12: price; 2 gets 11 ours; change 11: price
prices that changed alone move no line
  11:s 12:s$99 | 1:s$8 2:s$9 | 1:s=11 2:s$99=12 | change 11: price; change 12: price
a price that changed alone moves no line
  11:s 12:s$99 | 1:s$99 2:s$99 | 1:s=11 2:s$99=12 | change 11: price
or with a product that was registered again meanwhile
  11:s 12:p2* | 1:p9#P | 1:s=11 2:p2#P=12 | 1 gets 12 ours; remove 11
a cent that a float loses is no change; one that the shop changes is
  11:s$19.98 12:p2$19.98 | 1:s$19.99 2:p2$19.99 | 1:s$19.99=11 2:p2$19.98=12 | change 12: price
a line that got another product keeps its own sub-order, whatever else there is
  13:p2 12:m 11:s | 1:p2 2:p3 | 1:s=11 2:m=12 | change 11: product_id, product_options; change 12: product_id, product_options; keep 13 foreign
codes move with their products, though one of them is not shown
  12:p2 | 1:p2 | 1:s=11 2:p2=12 | 1 gets 12 ours; forget 1
a sub-order that is not shown gets no other product; its line gets a new one
  | 1:p2 | 1:s=11 | create 1 []; forget 1
it stays with its line if its product was registered again, and so does a review
  | 1:p2#P | 1:s#P=11 | change 11: price
  11:p3* | 1:p2$13#P | 1:p3#P=11 | change 11: price
  11:p3? | 1:p2$13#P | 1:p3#P=11 | change 11: price
  11:p3* | 1:p2$13#P | 1:p3#Q=11 | create 1 [11]; keep 11 reviewed
  11:p3 | 1:p2$13#P | 1:p3#P=11 | change 11: price, product_id
the sub-order of a line that is not pushed now is left alone
  11:s | new:s | !1:s=11 | create new [11]
unless the codes have moved, and it is what another line is now
  11:s 12:p2* 13:p3 | 1:p2 3:p3 | 1:s=11 !2:p2=12 4:p3=13 | 1 gets 12 ours; 3 gets 13 ours
or none, if that one has reviews
  11:s* 12:p2* 13:p3 | 1:p2 3:p3 | 1:s=11 !2:p2=12 4:p3=13 | 1 gets 12 ours; 3 gets 13 ours; keep 11 reviewed
so is a creation without a response of such a line
  11:s | new:s | !1:s=[] | create new [11]
which stays remembered while the service does not show what it made
  | new:m | !1:s=[] | create new []
what a lost creation made is its line’s, though an older foreign one is exact
  5:s 9:m | 1:s | 1:m=[5] | 1 gets 9 ours [5]; change 9: product_options; keep 5 foreign
what the lost creation of a removed line made stays linked until it is removed
  11:s 12:s | 1:s | 1:s=[] 2:s=[] | 1 gets 11 ours []; remove 12; forget 2
a sub-order that the response shows twice is one
  11:s 11:s | 1:s$9 | 1:s=11 | change 11: price
  11:s 11:s | 1:s 2:s | 1:s=11 2:s=[] | create 2 again []
a linked sub-order is not what a lost creation made
  11:s | 1:s 2:s | 1:s=11 2:s=[] | create 2 again []
  11:s | 1:m 2:s | 1:s=11 2:s=[] | change 11: product_options; create 2 again []
what is removed: a sub-order of ours without reviews
  3:plain | | 1:plain=3 | remove 3
  3:plain* | | 1:plain=3 | keep 3 reviewed
  3:plain? | | 1:plain=3 | keep 3 reviewed
  3:plain | | 1:plain=3~ | keep 3 foreign
  3:plain | | | keep 3 foreign
  | | 1:plain=3 | forget 1
a sub-order that a line takes over stays ours or foreign, and watched
  2:plain | new:plain | old:plain=2~ | new gets 2
  2:plain | new:plain | old:plain=2[1] | new gets 2 ours [1]
  2:plain | new:plain | new:plain=[2] | new gets 2
  2:plain | new:plain | new:p9=[] | new gets 2
what a lost creation made is found among new sub-orders, and stays watched
  5:plain 9:plain | 1:plain$12 | 1:plain=[5] | 1 gets 9 ours [5]; change 9: price; keep 5 foreign
  7:s 8:s | 1:s 2:s | 1:s=[5] 2:s=[6] | 1 gets 7 ours [5]; 2 gets 8 ours [6]
a lost creation leaves the sub-order that is exactly another line's to that line
  5:s | m:m s:s | m:m=[] s:s=[] | s gets 5 ours []; create m again []
it is sent again if it is not shown, with what was there before the first time
  5:p9 6:p9 | 1:plain | 1:plain=[5] | create 1 again [5]; keep 5 foreign; keep 6 foreign
  5:p9 6:p9 | 1:plain$12 | 1:plain=[5] | create 1 again [5]; keep 5 foreign; keep 6 foreign
  5:p9 6:p9 | 1:plain | | create 1 [5,6]; keep 5 foreign; keep 6 foreign
it is removed with its line only where it is exactly as it was sent
  9:plain | | 1:plain=[5] | remove 9; forget 1
  9:plain$7 | | 1:plain=[5] | keep 9 foreign; forget 1
a creation that was sent twice leaves no copy without reviews that is as sent
  5:plain 11:plain 12:plain | 1:plain | 1:plain=11[5] | remove 12; keep 5 foreign
  5:plain 11:plain 12:plain* | 1:plain | 1:plain=11[5] | keep 12 reviewed; keep 5 foreign
  5:plain 11:plain 12:plain$2 | 1:plain | 1:plain=11[5] | keep 12 foreign; keep 5 foreign
  5:plain 11:plain 12:plain | 1:plain | 1:plain=[5] | 1 gets 11 ours [5]; remove 12; keep 5 foreign
  5:plain 11:plain 12:plain* | 1:plain | 1:plain=[5] | 1 gets 11 ours [5]; keep 12 reviewed; keep 5 foreign
  5:plain 11:plain 12:plain$2 | 1:plain | 1:plain=[5] | 1 gets 11 ours [5]; keep 12 foreign; keep 5 foreign
nor if the service has written both otherwise than they were sent
  11:s 12:s | 1:plain | 1:plain=11[5] | change 11: product_options; remove 12
  11:s 12:s | 1:plain | 1:plain=[5] | 1 gets 11 ours [5]; change 11: product_options; remove 12
a product that the service deleted is corrected by another product alone
  11:-s | 1:s | 1:s#P=11 |
  11:-s* | 1:s | 1:s#P=11 |
  11:-s | 1:p2 | 1:s#P=11 | change 11: product_id, product_options
  11:-s | 1:p2#P | 1:s#P=11 | change 11: product_id, product_options
  11:-s* | 1:p2 | 1:s#P=11 | create 1 [11]; keep 11 reviewed
  11:-s* | 1:p2#P | 1:s#P=11 | change 11: product_options
  11:-s | 1:s | | create 1 [11]; keep 11 foreign
  11:-s | 1:p2 2:s | 1:s#P=11 | 2 gets 11 ours; create 1 [11]
  11:-s | 1:s | 1:s=[] | 1 gets 11 ours []
  11:-s | 1:s | 1:s=[11] | create 1 again [11]; keep 11 foreign
another line may take the copy, which is ours then; what was changed is foreign
  11:plain 12:plain | 1:plain 2:plain | 1:plain=11[] | 2 gets 12 ours []
  11:s 12:m | 1:s 2:m | 1:s=11[] | 2 gets 12
`;

function contentOf(text: string): Content {
  const [, product = '', price = '10', code] = /^(\w+)(?:\$([\d.]+))?(?:#(\w+))?$/.exec(text) ?? [];
  const product_options = product.length === 1 ? { size: product.toUpperCase() } : {};
  const product_id = product.startsWith('p') && product !== 'plain' ? Number(product.slice(1)) : 1;
  return { product_id, price, product_options, ...(code && { product_code: code }) };
}

function caseOf(text: string): [Required<Given>, effects: string[]] {
  const [shown = [], lines = [], links = []] = text.split('|').map((part) => part.trim().split(' ').filter(Boolean));
  const lineOf = (one: string): Line => {
    const [lineCode = '', content = ''] = one.split('=')[0]?.split(':') ?? [];
    return { lineCode, content: contentOf(content) };
  };
  const subOrderOf = (one: string) => {
    const { lineCode: id, content } = lineOf(one.replace(/[*?]$/, '').replace(':-', ':'));
    const reviews_count = one.endsWith('?') ? null : Number(one.endsWith('*'));
    return shownAs(Number(id), { content }, { reviews_count, ...(one.includes(':-') && { product_id: null }) });
  };
  const linkOf = (one: string) => {
    const [, id = '', foreign, ids] = /=(\d*)(~?)(.*)/.exec(one) ?? [];
    const how = { isOurs: foreign === '', idsBefore: ids ? JSON.parse(ids) : null };
    return linked(lineOf(one.replace('!', '')), id === '' ? null : Number(id), how);
  };
  const untouched = links.filter((one) => one.startsWith('!')).map((one) => linkOf(one).lineCode);
  const given = { shown: shown.map(subOrderOf), lines: lines.map(lineOf), links: links.map(linkOf), untouched };
  return [given, (text.split('|')[3] ?? '').split(';').flatMap((one) => one.trim() || [])];
}

describe('lines and sub-orders', () => {
  test.each(
    [...cases.matchAll(/^(\S.*)\n((?: {2}.*\n)+)/gm)].map(
      ([, title, text = '']) => [title, text.trim().split('\n')] as const,
    ),
  )('%s', (_, rows) => {
    for (const row of rows) {
      const [given, expected] = caseOf(row);
      expect([row, effects(given).sort()]).toEqual([row, expected.sort()]);
    }
  });

  test('a sub-order that another line takes over is watched since its creation', () => {
    const old = linked(line('old'), 2, { idsBefore: [1], linkedAt: new Date(0) });
    const { links } = subOrderDifference([shownAs(2, old)], [line('new')], [old]);
    expect(links).toEqual([{ ...old, lineCode: 'new' }]);
  });

  test('a sub-order that was to get another product, and did not, keeps a review of its own', () => {
    const of = (code: string, product: number) => line(code, { product_id: product, product_code: `P${product}` });
    const shown = (reviews: number) => [
      shownAs(11, of('1', 1), { reviews_count: 1 }),
      shownAs(12, of('2', 1), { reviews_count: reviews }),
      shownAs(13, of('3', 2)),
    ];
    const links = [linked(of('1', 1), 11), linked(of('2', 1), 12), linked(of('3', 2), 13)];
    const lines = [of('1', 3), of('2', 2)];
    const planned = subOrderDifference(shown(0), lines, links);
    expect(planned.matched).toMatchObject([
      { subOrderId: 12, body: { product_id: 3 } },
      { subOrderId: 13, body: {} },
    ]);
    expect(effects({ shown: shown(1), lines, links: planned.links })).toContain('create 1 [11,12,13]');
  });
});

describe('what is sent', () => {
  test.each<[string, Partial<Content>, Partial<Content>]>([
    ['status', { status: 'PAID' }, { status: 'paid' }],
    ['invoice', { invoice: '12-34 a' }, { invoice: '1234A' }],
    ['delivery_service', { delivery_service: 'A &amp; B' }, { delivery_service: 'A & B' }],
    ['product_options', { product_options: { name: 'ANNA' } }, { product_options: { name: 'Anna' } }],
  ])('a %s of which the shop changes only the case, spaces or escapes is sent once', (field, before, now) => {
    const [old, changed] = [line('1', before), line('1', now)];
    const shown = [shownAs(3, old, before.delivery_service ? { delivery_service: before.delivery_service } : {})];
    expect(effects({ shown, lines: [changed], links: [linked(old, 3)] })).toEqual([`change 3: ${field}`]);
    expect(effects({ shown, lines: [changed], links: [linked(changed, 3)] })).toEqual([]);
  });

  test('a line that forget has masked differs in nothing that the service shows in its own way', () => {
    const now = line('1', { product_options: { name: 'ANNA' } });
    const masked = { ...now.content, product_options: {}, invoice: null } as unknown as Content;
    const shown = [shownAs(3, line('1', { product_options: { name: 'anna' }, invoice: 'of another system' }))];
    const by = { isSelected: (column: string) => column === 'product_options' };
    const { matched } = subOrderDifference(shown, [now], [linked({ lineCode: '1', content: masked }, 3)], by);
    expect(matched).toMatchObject([{ fields: [], body: {} }]);
  });

  test('only fields that differ are sent; those that the shop has cleared are null', () => {
    const now = line('1', { status: 'delivery_started' });
    const shown = [shownAs(3, line('1', { status: 'paid', invoice: 'A' }))];
    const [only] = subOrderDifference(shown, [now], [linked(now, 3)]).matched;
    expect(only).toMatchObject({ body: { status: 'delivery_started', invoice: null }, isHidden: false });
    expect(only?.fields).toEqual([
      { field: 'status', shop: 'delivery_started', service: 'paid', isShown: true },
      { field: 'invoice', shop: null, service: 'A', isShown: true },
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
      expect(Object.keys(only?.body ?? {})).toEqual([field]);
      const bare = line('1');
      const nothing = field === 'price' ? {} : { [field]: undefined };
      expect(effects({ shown: [shownAs(3, bare, nothing)], lines: [bare], links: [linked(bare, 3)] })).toEqual([]);
    },
  );

  test('a status that the shop does not have is never cleared', () => {
    const one = line('1');
    const shown = [shownAs(3, one, { status: 'created' })];
    expect(effects({ shown, lines: [one], links: [linked(one, 3)] })).toEqual([]);
  });

  test('a linked sub-order that is not shown is sent whole, and none takes its place', () => {
    const one = line('1', { ...small, status: 'paid' });
    const given = { shown: [shownAs(4, one)], lines: [one], links: [linked(one, 3)] };
    expect(effects(given)).toEqual(['change 3: price, product_options, status', 'keep 4 foreign']);
    expect(subOrderDifference(given.shown, given.lines, given.links).matched).toMatchObject([{ isHidden: true }]);
  });
});
