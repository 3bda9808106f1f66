import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanList } from '../../src/review-api/scan-list.ts';

const names = ['id', 'created_at', 'product_code'];

/** What `JSON.parse` gives of the same bytes; undefined where they are no list of objects. */
function reference(text: string): Record<string, unknown>[] | undefined {
  try {
    const list: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    if (!Array.isArray(list) || !list.every((item) => item?.constructor === Object)) return undefined;
    return list.map((item) =>
      Object.fromEntries(names.filter((name) => name in item).map((name) => [name, item[name]])),
    );
  } catch {
    return undefined;
  }
}

const plain = { id: 'scalar', created_at: 'scalar', message: 'any', idx: 'given' } as const;
const scan = (text: string) => scanList(Buffer.from(text), { fields: names, plain });
const read = (text: string) => scan(text)?.items;

const key = fc.oneof(fc.constantFrom(...names, 'idx', 'product_codes', 'message'), fc.string({ unit: 'grapheme' }));
const record = fc.dictionary(
  key.filter((name) => name !== '__proto__'),
  fc.jsonValue({ maxDepth: 2 }),
  { noNullPrototype: true, maxKeys: 5 },
);
const list = fc
  .tuple(fc.array(record, { maxLength: 3 }), fc.constantFrom(undefined, 1, '\t'))
  .map(([items, space]) => JSON.stringify(items, null, space));

test('of any list, the fields are those that JSON.parse gives', () => {
  let byItself = 0;
  fc.assert(
    fc.property(list, (text) => {
      const found = read(text);
      if (found) byItself += 1;
      // Names with escapes are left to JSON.parse; nothing else of these is.
      else expect(text).toContain('\\');
      if (found) expect(found).toEqual(reference(text));
    }),
    { numRuns: 2000 },
  );
  expect(byItself).toBeGreaterThan(500);
});

test('whatever is not JSON any more, by a byte changed, added or cut off, is not read', () => {
  const broken = fc.tuple(list, fc.nat(), fc.constantFrom(...'[]{},:"\\0-.eE+tfn\u0000\n\ufeff', ''), fc.boolean());
  fc.assert(
    fc.property(broken, ([text, position, char, isCut]) => {
      const at = position % (text.length + 1);
      const changed = text.slice(0, at) + char + (isCut ? '' : text.slice(at + (position % 2)));
      const found = read(changed);
      if (found) expect(found).toEqual(reference(changed));
    }),
    { numRuns: 5000 },
  );
});

test.each([
  ['[]', []],
  [' [ ] \n', []],
  ['[{}]', [{}]],
  ['[{"id":1,"id":"two"}]', [{ id: 'two' }]],
  ['[{"id":12345678901234567890,"created_at":null}]', [{ id: 12345678901234567000, created_at: null }]],
  ['[{"product_code":"\\ud83d\\u00e9\\n"}]', [{ product_code: '\ud83dé\n' }]],
  ['[{"id":{"a":[1,{"id":2}]}},{"id":-0.5e+3}]', [{ id: { a: [1, { id: 2 }] } }, { id: -500 }]],
  ['[{"\\u0069d":1}]', undefined],
  ['\ufeff[]', undefined],
  ['[,{}]', undefined],
  ['[{}{}]', undefined],
  ['{"error":"no list"}', undefined],
  ['[1]', undefined],
  ['[{"id":01}]', undefined],
  ['[{"id":1.}]', undefined],
  ['[{"id":"\\x"}]', undefined],
  ['[{"id":"\\u12g4"}]', undefined],
  ['[{"id":"a\nb"}]', undefined],
  ['[{"id":nul}]', undefined],
  ['[{"id":1}] x', undefined],
  ['[{"id":1},]', undefined],
  ['', undefined],
  [`[{"id":${'['.repeat(100)}${']'.repeat(100)}}]`, undefined],
])('%s', (text, fields) => {
  expect(read(text)).toEqual(fields);
});

test.each([
  ['[]', true],
  ['[{"id":1,"created_at":"x","message":{"a":[null]},"idx":[]}]', true],
  ['[{"id":"1"},{"created_at":null,"id":true},{"id":12345678901234567890}]', true],
  ['[{"id":1},{"id":1,"product_code":"x"}]', false],
  ['[{"id":1.0}]', false],
  ['[{"id":1e3}]', false],
  ['[{"id":-1}]', false],
  ['[{"id":{}}]', false],
  ['[{"id":[]}]', false],
  ['[{"idx":null}]', false],
  ['[{"idx":[],"idx":null}]', false],
])('%s is plain: %s', (text, isPlain) => {
  expect(scan(text)?.isPlain).toBe(isPlain);
});

test('bytes that are no UTF-8 are read as JSON.parse reads them', () => {
  const bytes = Buffer.concat([
    Buffer.from('[{"id":1,"product_code":"'),
    Buffer.from([0xe3, 0xff]),
    Buffer.from('"}]'),
  ]);
  expect(scanList(bytes, { fields: names, plain })?.items).toEqual(reference(bytes.toString()));
});
