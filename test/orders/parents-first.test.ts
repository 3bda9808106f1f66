import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parentsFirst } from '../../src/orders/catalog/sync-categories.ts';
import type { Category } from '../../src/shop/rows.ts';

const codes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const category = (code: string, parentCode: string | undefined): Category => ({
  code,
  name: code,
  parentCode,
  status: undefined,
});
const shops = fc
  .array(fc.option(fc.constantFrom(...codes, 'unknown'), { nil: undefined }), { minLength: 7, maxLength: 7 })
  .chain((parents) => fc.shuffledSubarray(codes.map((code, index) => category(code, parents[index]))));

test('every category is placed once, after its parent, or it is part of a cycle', () => {
  fc.assert(
    fc.property(shops, (some) => {
      const byCode = new Map(some.map((one) => [one.code, one]));
      const { ordered, deadLetters } = parentsFirst(byCode);
      const isInCycle = (start: Category) => {
        let at = byCode.get(start.parentCode ?? '');
        for (let step = 0; at && step < codes.length; step += 1) {
          if (at.code === start.code) return true;
          at = byCode.get(at.parentCode ?? '');
        }
        return false;
      };
      expect(deadLetters.map(({ key }) => key).toSorted()).toEqual(
        some
          .filter(isInCycle)
          .map(({ code }) => code)
          .toSorted(),
      );
      expect([...ordered.map(({ code }) => code), ...deadLetters.map(({ key }) => key)].toSorted()).toEqual(
        some.map(({ code }) => code).toSorted(),
      );
      for (const [place, { parentCode }] of ordered.entries()) {
        const parent = ordered.findIndex(({ code }) => code === parentCode);
        expect(parent).toBeLessThan(place);
      }
    }),
  );
});
