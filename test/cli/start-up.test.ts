import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'src', 'cli', 'main.ts');

test('an old Node ends with a sentence and status 2, also under pm2', async () => {
  const old = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.1.0' })`;
  const child = fork(main, ['worker'], { execArgv: ['--import', old], env: {}, silent: true });
  const said: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => said.push(text));
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(said.join('')).toContain('this is Node 20.1.0, expected 22.19 or newer');
});

test('no hint starts a stranger’s package by npx', async () => {
  const files = globSync('{src,jobs}/**/*.ts', { cwd: root });
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')));
  expect(files.filter((_, index) => /npx (--no )?review-sync/.test(texts[index] ?? ''))).toEqual([]);
  expect(files.length).toBeGreaterThan(200);
});
