import { expect, test } from 'vitest';
import { contentKey } from '../../src/base/json-text.ts';

test('a record without a key has the same one when the warehouse gives it back with its fields in another order', () => {
  const key = contentKey([{ brand_id: 1, products: [{ id: 2, name: 'b' }] }]);
  expect(contentKey([{ products: [{ name: 'b', id: 2 }], brand_id: 1 }])).toBe(key);
  expect(contentKey([{ products: [{ name: 'c', id: 2 }], brand_id: 1 }])).not.toBe(key);
});
