import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { deadLinks } from './dead-links.ts';

test('every relative link of every page leads to a file and a heading', async () => {
  expect(await deadLinks(packagePath())).toEqual([]);
});

test('every test that a promise names is there', async () => {
  const page = await readFile(packagePath('docs', 'promises.md'), 'utf8');
  const named = [...page.matchAll(/`([a-z-]+\/[a-z-]+)`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter((name) => !existsSync(packagePath('test', `${name}.test.ts`)));
  expect(missing).toEqual([]);
});
