import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { mutations } from './mutations.ts';

test('each mutation breaks something: its file holds its text once, and the tests it names exist', async () => {
  for (const { name, file, find, replace, tests } of mutations) {
    const text = await readFile(file, 'utf8');
    expect(text.split(find).length - 1, `${name}: ${file} holds ${JSON.stringify(find)} so many times`).toBe(1);
    expect(replace, name).not.toBe(find);
    for (const one of tests) expect(existsSync(one.split(' > ')[0] ?? ''), `${name}: ${one} is there`).toBe(true);
  }
});
