import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'src', 'cli', 'main.ts');

test.each([
  ['an old Node', '20.1.0', 'this is Node 20.1.0, expected 22.19 or newer'],
  ['a missing setting', process.versions.node, 'WAREHOUSE_DATABASE_URL'],
])('%s ends a worker with a sentence and status 2, also under pm2', async (_, version, sentence) => {
  // pm2 listens on the channel of the process: one that only sets its exit status stays.
  const start = `process.on('message', () => {}); Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(start)}`];
  const child = fork(main, ['worker'], { execArgv, env: {}, silent: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => said.push(text));
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(said.join('')).toContain(sentence);
});

test('no hint starts a stranger’s package by npx', async () => {
  const files = globSync('{src,jobs}/**/*.ts', { cwd: root });
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')));
  expect(files.filter((_, index) => /npx (--no )?review-sync/.test(texts[index] ?? ''))).toEqual([]);
  expect(files.length).toBeGreaterThan(200);
});
