import { expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { deadLinks } from '../harness/dead-links.ts';

test('every relative link of every page leads to a file and a heading', async () => {
  expect(await deadLinks(packagePath())).toEqual([]);
});
