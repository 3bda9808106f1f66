import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { checkPage, pageOfOne } from '../../src/reviews/read/list-page.ts';
import { openWarehouse, warehouseNow } from '../../src/warehouse/index.ts';
import { commentsDue, commentsFailed, commentsRead } from '../../src/warehouse/reviews/comments-due.ts';
import { compareOne, comparePage } from '../../src/warehouse/reviews/compare-reviews.ts';
import { landPage } from '../../src/warehouse/reviews/land-reviews.ts';
import { notInLists, reviewColumns } from '../../src/warehouse/reviews/review-columns.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

const plausible = { start: Date.parse('2000-01-01T00:00:00Z') / 1000, end: Date.parse('2026-06-02T00:00:00Z') / 1000 };
const { ask, url, warehouse } = await openTestWarehouse(2);
beforeEach(() => ask('truncate warehouse.reviews, sync.dead_letters, sync.absent_reviews'));

const review = (id: unknown, more: object = {}) => ({
  id,
  message: 'fine',
  score: 5,
  product_id: 1,
  product_code: 'P1',
  created_at: '2026-03-01T09:00:00.123+09:00',
  updated_at: '2026-03-02T09:00:00.456+09:00',
  ...more,
});
const pageOf = (json: string | Buffer) => {
  const rawBody = Buffer.from(json);
  return { rawBody, check: checkPage(JSON.parse(rawBody.toString()), plausible, rawBody) };
};
const landText = (json: string | Buffer) => landPage(warehouse, pageOf(json));
const landAlone = (item: object) =>
  landPage(warehouse, pageOfOne({ item: { id: 1, ...item }, rawBody: Buffer.from(JSON.stringify(item)) }, plausible));
const land = (page: readonly unknown[]) => landText(JSON.stringify(page));
const compare = (page: readonly unknown[], since?: Date) => comparePage(warehouse, pageOf(JSON.stringify(page)), since);
const stored = (columns: string) => ask(`select ${columns} from warehouse.reviews order by id`);
const openLetters = () => ask('select key, reason from sync.dead_letters where resolved_at is null order by key');

test('bad records of a page are kept whole until they are corrected; all others land', async () => {
  const good = Array.from({ length: 97 }, (_, index) => review(index + 10));
  const bad = [
    review(1, { score: 'abc', message: '\u0000 \ud83d \udc00' }),
    review(2, { created_at: 'now', message: 'y'.repeat(3_000_000) }),
    review(3, { score: 'abc', message: 'y'.repeat(60_000) }),
    review(null),
  ];
  expect(await land([...bad, ...good])).toMatchObject({ inserted: 97, updated: 0, unchanged: 0, refused: 4 });
  const keys = [...['1', '2', '3'].map((key) => ({ key })), { key: expect.stringMatching(/^sha256:/) }];
  expect(await openLetters()).toMatchObject(keys);
  for (const { reason } of await openLetters()) expect(reason).not.toContain('yyy');
  const first = () => ask(`select attempts, payload ->> 'score' as score from sync.dead_letters where key = '1'`);
  expect(await first()).toEqual([{ attempts: 1, score: 'abc' }]);
  await land([review(1, { score: 'def' })]);
  expect(await first()).toEqual([{ attempts: 2, score: 'def' }]);
  await land([review(1), review(2), review(3), ...good]);
  expect(await openLetters()).toHaveLength(1);
  expect(await stored('id')).toHaveLength(100);
});

test('a session that lost a planned statement, or has another one, costs no page', async () => {
  const openSession = async () => {
    const session = await openWarehouse({ url, connections: 1 });
    onTestFinished(() => session.close());
    const inSession = async (text: string) => (await sql.raw<{ name: string }>(text).execute(session.db)).rows;
    const landIn = async (id: number) =>
      expect(await landPage(session, pageOf(JSON.stringify([review(id)])))).toMatchObject({ inserted: 1 });
    return { inSession, landIn };
  };
  // A pooler by transactions gives each statement another session.
  const { inSession, landIn } = await openSession();
  await landIn(1);
  const [planned] = await inSession('select name from pg_prepared_statements');
  const other = await openSession();
  await other.inSession(`prepare "${planned?.name}" as select 'of another process'`);
  await other.landIn(2);
  await inSession(`deallocate all; prepare land_reviews (text, float) as select 'of an older version'`);
  await landIn(3);
  await inSession('discard all');
  await landIn(4);
});

test('a record without an id whose links are signed again is the same dead letter', async () => {
  for (const key of ['a', 'b']) await land([review(null, { image: `HTTP://i/${key}?"s` })]);
  expect(await ask('select attempts from sync.dead_letters')).toEqual([{ attempts: 2 }]);
});

const incompressible = Array.from({ length: 150 }, (_, n) => createHash('sha512').update(`${n}`).digest('base64')).join(
  '',
);

test.each([
  ['a product code too long for its index', JSON.stringify(review(1, { product_code: incompressible }))],
  [
    'what is nested too deep',
    `${JSON.stringify(review(1)).slice(0, -1)},"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  ],
  ['an id that is no key', JSON.stringify(review('a\u0000b'))],
  ['an id of 0', JSON.stringify(review(0))],
  ['an id beyond 2^53 as text', JSON.stringify(review('9223372036854775807'))],
  ['an id beyond 2^53', JSON.stringify(review(1)).replace('"id":1', '"id":9223372036854775808')],
  ['no object', 'null'],
  ['a number of 131,072 digits', JSON.stringify(review(1, { weight: 'X' })).replace('"X"', '1e131071')],
  ['a number of 16,000 decimals', JSON.stringify(review(1, { weight: 'X' })).replace('"X"', '1e-16000')],
  ['half an image', JSON.stringify(review(1, { images_count: 0.5 }))],
  ['no date of creation', JSON.stringify(review(1, { created_at: null }))],
  ['no date of an update', JSON.stringify(review(1, { updated_at: undefined }))],
  ...[6, -1, 2.5, '4.5', 32_767, true, [3, 4]].map((score) => [
    `a score of ${score}`,
    JSON.stringify(review(1, { score })),
  ]),
])('a record that Postgres cannot hold for %s leaves the others alone', async (_, bad) => {
  const good = `${JSON.stringify(review(2)).slice(0, -1)},"partner_ref":12345678901234567890123}`;
  expect(await landText(`[${bad},${good}]`)).toMatchObject({ inserted: 1, refused: 1 });
  expect(await openLetters()).toHaveLength(1);
  expect(await stored(`id::integer, extra ->> 'partner_ref' as ref`)).toEqual([
    { id: 2, ref: '12345678901234567890123' },
  ]);
});

test.each(['created_at', 'updated_at'])(
  'a review whose %s is no date-time or out of range is refused',
  async (name) => {
    const dates = [
      ...['infinity', 'now', '20240101', '2024-01-01', 1_700_000_000, '2024-01-01T00:00:00', '2024-01-01 00:00:00'],
      ...['2024-02-30T00:00:00Z', 'January 1 2024', true, '1999-12-31T23:59:59Z', '2026-06-02T00:00:00Z'],
    ];
    const bad = dates.map((date, index) => review(index + 1, { [name]: date }));
    // An offset of hours alone is ISO 8601, too, and Ruby prints a time with spaces.
    const others = ['2026-03-02T09:00:00-03', '2000-01-01t00:00:00z', '2026-03-02 09:00:00.123 +0900'];
    const fine = others.map((date, index) => review(100 + index, { [name]: date }));
    expect(await land([...bad, ...fine])).toMatchObject({ inserted: 3, refused: dates.length });
    expect(await compare(fine)).toEqual([]);
    expect(await stored(`${name} as at`)).toEqual(
      ['2026-03-02T12:00Z', '2000-01-01', '2026-03-02T00:00:00.123Z'].map((at) => ({ at: new Date(at) })),
    );
    expect((await openLetters()).find(({ key }) => key === '1')?.reason).toContain(
      `expected ${name} as an ISO 8601 date-time with an offset, found infinity`,
    );
  },
);

const asText = { user_id: '7', product_id: '3', product_code: 'as text', score: '4.0', likes_count: '12.00' };
const nested = { rate: '4.0', score: '5.0', user_id: '' };
const extras = { extra_rate: '#1.50', extra_id: '#12345678901234567890', extra_deep: { n: ['#2.0', '#-1.25'] } };
const emptyTexts = { user_code: '', order_code: '', product_code: '', source: '', tag_name: '', message: '' };

/** A value that begins with # stands in the page without quotes. */
test.each<[what: string, record: object, columns: string, stored: object]>([
  ['a score of 0', { score: 0 }, 'score', { score: null }],
  ['a score of 0 as text', { score: '0' }, 'score', { score: null }],
  ['an empty score', { score: '' }, 'score', { score: null }],
  ['null as the date of its update', { updated_at: null }, 'updated_at = created_at as same', { same: true }],
  ['an empty date of its update', { updated_at: '' }, 'updated_at = created_at as same', { same: true }],
  [
    'ids and numbers as text',
    { ...asText, id: '5', store_order: '', sub_brand_id: '', comments_count: '', message: '"score":""', extra: nested },
    `id, user_id, product_id, score, likes_count, store_order, sub_brand_id, message, extra,
     (select product_id from sync.product_links l where l.product_code = reviews.product_code) as learned`,
    {
      id: '5',
      user_id: '7',
      product_id: '3',
      score: 4,
      likes_count: 12,
      store_order: null,
      sub_brand_id: null,
      message: '"score":""',
      extra: { extra: nested },
      learned: '3',
    },
  ],
  [
    'empty codes, names and text of the customer',
    emptyTexts,
    Object.keys(emptyTexts).join(),
    { user_code: null, order_code: null, product_code: null, source: null, tag_name: null, message: '' },
  ],
  [
    'NUL and half a surrogate pair',
    { message: 'a\u0000b\udc00', user_name: '\ud83d', mood: { 'x\u0000': 1 }, 'ke\u0000y': 1 },
    'message, user_name, extra',
    { message: 'a\ufffdb\ufffd', user_name: '\ufffd', extra: { mood: { 'x\ufffd': 1 }, 'ke\ufffdy': 1 } },
  ],
  [
    'whole numbers as 5.0, beside others that stay as they are',
    { id: '#7.0', score: '#5.0', likes_count: '#1e1', message: '5.0', ...extras },
    'id::text, score, likes_count, message, extra::text',
    {
      id: '7',
      score: 5,
      likes_count: 10,
      message: '5.0',
      extra: '{"extra_id": 12345678901234567890, "extra_deep": {"n": [2, -1.25]}, "extra_rate": 1.50}',
    },
  ],
])('a review with %s lands, and is no difference', async (_, record, columns, expected) => {
  // Escapes are read in either case.
  const page = JSON.stringify([review(1, record)])
    .replaceAll(/"#(.*?)"/g, '$1')
    .replace('ud83d', 'uD83D');
  expect(await landText(page)).toMatchObject({ inserted: 1, refused: 0 });
  expect(await openLetters()).toEqual([]);
  expect(await stored(columns)).toEqual([expected]);
  expect(await comparePage(warehouse, pageOf(page))).toEqual([]);
  expect(await landText(page)).toMatchObject({ updated: 0, unchanged: 1 });
});

test('a record that is not UTF-8 is a dead letter with its bytes', async () => {
  const body = Buffer.concat([
    Buffer.from(`[${JSON.stringify(review(2))},${JSON.stringify(review(1)).replace('fine', '')}`.slice(0, -1)),
    Buffer.from(',"user_name":"'),
    Buffer.from([0xc1, 0xaf]),
    Buffer.from(`"},${JSON.stringify(review(3))}]`),
  ]);
  expect(await landText(body)).toMatchObject({ inserted: 2, refused: 1 });
  expect(await openLetters()).toMatchObject([{ key: '1', reason: expect.stringContaining('UTF-8') }]);
  const [deadLetter] = await ask<{ base64: string }>(`select payload ->> 'base64' as base64 from sync.dead_letters`);
  expect(Buffer.from(deadLetter?.base64 ?? '', 'base64').includes(Buffer.from([0xc1, 0xaf]))).toBe(true);
  expect(await comparePage(warehouse, pageOf(body))).toMatchObject([{ id: 1, kind: 'refused' }]);
});

test('an older version never overwrites a newer one; an unchanged row stays', async () => {
  await land([review(1, { message: 'newer' })]);
  const [before] = await stored('xmin::text as version');
  const older = review(1, { message: 'older', updated_at: '2026-03-01T12:00:00+09:00' });
  expect(await land([older])).toMatchObject({ updated: 0, unchanged: 1 });
  expect(await land([review(1, { message: 'newer' })])).toMatchObject({ updated: 0, unchanged: 1 });
  expect(await stored('message, xmin::text as version')).toEqual([{ message: 'newer', ...before }]);
});

test('verify finds a version whose date went back, not one that landed meanwhile', async () => {
  const older = review(1, { updated_at: '2026-03-01T12:00:00+09:00' });
  await land([review(1)]);
  expect(await compare([older])).toEqual([{ id: 1, kind: 'reverted', fields: ['updated_at'] }]);
  expect(await compare([older], await warehouseNow(warehouse.db))).toMatchObject([{ kind: 'reverted' }]);
  const since = await warehouseNow(warehouse.db);
  await land([review(1, { updated_at: '2026-03-03T12:00:00+09:00' })]);
  expect(await compare([review(1)], since)).toEqual([]);
  // It is repaired beside a record that cannot be held, too.
  const page = pageOf(JSON.stringify([older, review(2, { score: 9 })]));
  const repaired = await landPage(warehouse, page, await warehouseNow(warehouse.db));
  expect(repaired).toMatchObject({ updated: 1, refused: 1 });
});

const imageOf = (link: string) => ({
  url: `https://i.example/${link.length > 1 ? link : `1.jpg?sig=${link}`}`,
  width: 10,
});
const [ofVideos, ofImages] = [
  [['c', 'e'], ['e'], []],
  [['2.jpg?sig=b'], ['2.jpg', '3.jpg'], []],
];

test.each<[string, fields: (links: string[]) => object, others: string[][], held: string]>([
  [
    'videos and video_urls',
    (links) => ({ videos: links.map((hd_url) => ({ hd_url })), video_urls: links }),
    ofVideos,
    `extra -> 'video_urls' ->> 0`,
  ],
  ['video_urls alone', (video_urls) => ({ video_urls }), ofVideos, `extra -> 'video_urls' ->> 0`],
  ['images', (links) => ({ images: links.map(imageOf) }), ofImages, `right(images -> 0 ->> 'url', 1)`],
])('links of %s, signed again, are no change until six days have passed', async (_, fields, others, held) => {
  const withLinks = (...links: string[]) => review(1, fields(links));
  await land([withLinks('a')]);
  expect(await compare([withLinks('b')])).toEqual([]);
  expect(await land([withLinks('b')])).toMatchObject({ unchanged: 1 });
  await ask(`update warehouse.reviews set synced_at = now() - interval '7 days'`);
  expect(await land([withLinks('c')])).toMatchObject({ updated: 1 });
  expect(await land([withLinks('d')])).toMatchObject({ unchanged: 1 });
  expect(await stored(`${held} as link`)).toEqual([{ link: 'c' }]);
  // A link that comes or goes is a change, and so is another image.
  for (const links of others) {
    const stale = { kind: 'stale', fields: Object.keys(fields([])).sort() };
    expect(await compare([withLinks(...links)])).toMatchObject([stale]);
    expect(await land([withLinks(...links)])).toMatchObject({ updated: 1 });
    expect(await compare([withLinks(...links)])).toEqual([]);
  }
});

test.each<[string, boolean, object]>([
  ['shown again after a deletion', true, {}],
  ['with a corrected creation date', false, { created_at: '2026-02-28T09:00:00+09:00' }],
  ['of another product', false, { product_id: 4711 }],
])('a review %s keeps what a list does not show', async (_, isDeleted, change) => {
  await landAlone(review(1, { comments: [{ id: 1 }], tag_name: 'summer' }));
  await ask(`update warehouse.reviews set first_seen_at = '2026-03-05T00:00:00Z', deleted_at = $1`, [
    isDeleted ? new Date() : null,
  ]);
  expect(await land([review(1, { ...change, updated_at: '2026-03-04T09:00:00+09:00' })])).toMatchObject({ updated: 1 });
  expect(await stored(`tag_name, comments_count, extra, first_seen_at = '2026-03-05T00:00:00Z' as is_known`)).toEqual([
    { tag_name: null, comments_count: 1, extra: { comments: [{ id: 1 }] }, is_known: true },
  ]);
});

test.each([
  ['newer', '2026-03-03T00:00:00Z'],
  ['equal', '2026-03-02T09:00:00.456+09:00'],
  ['older', '2026-03-01T00:30:00Z'],
])('a review marked deleted and shown again in a version that is %s is there again', async (_, updated_at) => {
  await land([review(1, { message: 'kept' })]);
  await ask('update warehouse.reviews set deleted_at = now()');
  const shown = review(1, { message: 'shown', updated_at });
  expect(await compare([shown])).toMatchObject([{ kind: 'stale', fields: expect.arrayContaining(['deleted_at']) }]);
  expect(await land([shown])).toMatchObject({ updated: 1 });
  expect(await stored('deleted_at, message')).toEqual([{ deleted_at: null, message: 'shown' }]);
  expect(await compare([shown])).toEqual([]);
});

test('what only a review alone shows outlives a list, and the other way round', async () => {
  const inList = review(1, { user_id: 7, comments_count: 1, third_party_name: 'partner', mood: 'fair' });
  const alone = review(1, {
    comments: [{ id: 1, by: null }, { id: 2 }],
    tag_name: 'summer',
    pinned: true,
    mood: 'fair',
  });
  await land([inList, review(2, { user_id: 8 })]);
  expect(await landAlone(alone)).toMatchObject({ updated: 1 });
  const whole = {
    user_id: '7',
    comments_count: 2,
    tag_name: 'summer',
    third_party_name: null,
    extra: { comments: [{ id: 1, by: null }, { id: 2 }], pinned: true, mood: 'fair' },
  };
  const columns = 'user_id, comments_count, tag_name, third_party_name, extra';
  expect((await stored(columns))[0]).toEqual(whole);
  expect(await land([{ ...inList, comments_count: 2 }, review(2, { user_id: 8 })])).toMatchObject({ updated: 1 });
  // All but comments is what the list shows.
  const listed = {
    third_party_name: 'partner',
    tag_name: null,
    extra: { comments: whole.extra.comments, mood: 'fair' },
  };
  expect((await stored(columns))[0]).toEqual({ ...whole, ...listed });
  expect(await compare([{ ...inList, comments_count: 2 }, review(2, { user_id: 8 })])).toEqual([]);
  // If a review is shown alone, only the fields that both have are compared.
  const compareAlone = (one: object) => compareOne(warehouse, Buffer.from(JSON.stringify(one)));
  expect(await compareAlone({ ...alone, tag_name: null, third_party_name: 'partner', first: 1 })).toEqual([]);
  expect(await compareAlone({ ...alone, tag_name: null, mood: 'bad' })).toMatchObject([{ fields: ['mood'] }]);
});

test('only a list says that comments are due; a number that moves leaves them due', async () => {
  await ask('truncate sync.comments_due');
  const due = () => ask('select review_id::integer as id, moves from sync.comments_due');
  await landAlone(review(1, { comments: [{ id: 1 }] }));
  await land([review(1, { comments_count: 1, likes_count: 9 }), review(2, { comments_count: 0 })]);
  expect(await due()).toEqual([]);
  await land([review(1, { comments_count: 2 })]);
  const [asked] = await commentsDue(warehouse.db, 9);
  if (!asked) throw new Error('nothing is due');
  await land([review(1, { comments_count: 3 })]);
  await commentsRead(warehouse.db, asked);
  expect(await due()).toEqual([{ id: 1, moves: 2 }]);
  await commentsRead(warehouse.db, { ...asked, moves: 2 });
  expect(await due()).toEqual([]);
  // Those that failed do not keep a new one waiting.
  await land([1, 2, 3].map((id) => review(id, { comments_count: 9 })));
  const all = await commentsDue(warehouse.db, 9);
  for (const one of all) if (one.id !== 1) await commentsFailed(warehouse.db, one, new Date(`2026-03-0${one.id}`));
  expect((await commentsDue(warehouse.db, 9)).map(({ id }) => id)).toEqual([1, 2, 3]);
});

test.each([
  ['as a whole', 'perform pg_terminate_backend(pg_backend_pid())', [review(1), review(2)]],
  ['record by record', `raise exception using errcode = 'disk_full'`, [review(0), review(2)]],
] as const)(
  'a page that cannot land %s for a fault of the server is an error, and nothing is kept',
  async (_, fault, page) => {
    await ask(`create function break_landing() returns trigger language plpgsql as $$ begin ${fault}; return new; end $$;
    create trigger break_landing before insert on warehouse.reviews for each row execute function break_landing()`);
    await expect(land(page)).rejects.toThrow();
    expect(await openLetters()).toEqual([]);
    await ask('drop function break_landing cascade');
    expect(await land(page)).toMatchObject({ inserted: page.filter(({ id }) => id !== 0).length });
  },
);

test('what lands is neither an open dead letter nor suspected any more', async () => {
  await ask(`insert into sync.dead_letters (kind, key, reason, payload, resolved_at) values
      ('review', '1', 'open', '{}', null), ('review', '3', 'closed', '{}', '2026-01-01'),
      ('review', '2', 'another', '{}', null), ('category', '1', 'of another kind', '{}', null)`);
  await ask(`update sync.dead_letters set is_discarded = true where reason = 'closed'`);
  await ask(`insert into sync.absent_reviews (review_id, run_id) values (1, 'r'), (2, 'r')`);
  await land([review(1), review(3)]);
  // If the record fails again for the reason that a person has discarded, it is open again.
  expect(await ask('select from sync.dead_letters where is_discarded')).toEqual([]);
  const letters = `select reason from sync.dead_letters where resolved_at is null or resolved_at = '2026-01-01' order by reason`;
  expect((await ask(letters)).map(({ reason }) => reason)).toEqual(['another', 'closed', 'of another kind']);
  expect(await ask('select review_id from sync.absent_reviews')).toEqual([{ review_id: '2' }]);
});

test('a value in another form, such as 1 for true, is no difference', async () => {
  const page = (display: number, score: string, weight: string) =>
    JSON.stringify([review(1, { display, store_order: 0, score })]).replace('}]', `,"weight":${weight}}]`);
  const differing = (text: string) => comparePage(warehouse, pageOf(text));
  await landText(page(1, '4', '1.5'));
  expect(await differing(page(1, '4', '1.50'))).toEqual([]);
  expect(await differing(page(0, '3', '1.6'))).toMatchObject([
    { kind: 'stale', fields: ['display', 'score', 'weight'] },
  ]);
});

test('a list that shows null as the number of comments is no difference', async () => {
  await landAlone(review(1, { comments: [{ id: 1 }] }));
  const shown = [review(1, { comments_count: null, likes_count: 9 })];
  await land(shown);
  expect(await compare(shown)).toEqual([]);
  expect(await stored('comments_count')).toEqual([{ comments_count: 1 }]);
  expect(await compare([review(1, { comments_count: 2, likes_count: 9 })])).toMatchObject([
    { fields: ['comments_count'] },
  ]);
});

const changeable = Object.entries(reviewColumns).filter(([name]) => name !== 'id');

const optional = ['third_party_name', 'tag_name'];

test('verify names a column that changed; one that no review shows stays, or may go', async () => {
  const value = { bigint: 5, smallint: 4, integer: 3, text: 'text', boolean: true, jsonb: [{ a: 1 }] };
  const other = {
    bigint: 6,
    smallint: 1,
    integer: 2,
    text: '좋아요 👍 "\\',
    boolean: false,
    jsonb: [{ a: 1e3 }, null],
  };
  const all = (values: typeof value | typeof other, mood: string): Record<string, unknown> => ({
    ...Object.fromEntries(changeable.flatMap(([name, type]) => (type === 'timestamptz' ? [] : [[name, values[type]]]))),
    // A field of extra.
    mood,
  });
  const [fields, others] = [all(value, 'fair'), all(other, 'bad')];
  for (const name of Object.keys(fields)) {
    await ask('truncate warehouse.reviews');
    const shown = [review(1, fields), review(2, fields)] as const;
    await land(shown);
    const held = async () => (await stored(name === 'mood' ? `extra ->> 'mood' as held` : `${name} as held`))[0]?.held;
    const before = await held();
    const changed = [{ ...shown[0], [name]: others[name] }, shown[1]];
    expect([name, await compare(changed)]).toEqual([name, [{ id: 1, kind: 'stale', fields: [name] }]]);
    await land(changed);
    expect([name, await compare(changed)]).toEqual([name, []]);
    const lacking = { ...shown[0], [name]: undefined };
    for (const [page, isKept] of [
      [[lacking, { ...shown[1], [name]: undefined }], ![...optional, 'mood'].includes(name)],
      // One of the page shows it.
      [[lacking, shown[1]], notInLists.includes(name)],
    ] as const) {
      await land(shown);
      expect([name, await compare(shown)]).toEqual([name, []]);
      const found = isKept ? undefined : { id: 1, kind: 'stale', fields: [name] };
      expect([name, (await compare(page))[0]]).toEqual([name, found]);
      await land(page);
      expect([name, await held()]).toEqual([name, isKept ? before : null]);
      expect([name, await compare(page)]).toEqual([name, []]);
    }
  }
});

test('pages that share their bad records land at once, in whatever order', async () => {
  const bad = Array.from({ length: 60 }, (_, index) => review(index + 1, { score: 9 }));
  await Promise.all([bad, bad.toReversed(), bad, bad.toReversed()].map(land));
  expect(await openLetters()).toHaveLength(60);
});
