import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../harness/folder.ts';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'src', 'cli', 'main.ts');

test.each([
  ['an old Node', '20.1.0', /this is Node 20\.1\.0, expected 22\.19 or newer/],
  // SCHEDULE_ORDERS is of .env. Of SCHEDULE_REVIEWS the value of the environment counts.
  ['a wrong setting of .env', process.versions.node, /SCHEDULE_ORDERS is malformed(?!.*SCHEDULE_REVIEWS)/s],
])('%s ends a worker with a sentence and status 2, also under pm2', async (_, version, sentence) => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, '.env'), 'SCHEDULE_ORDERS=x\nSCHEDULE_REVIEWS=y\n');
  // pm2 listens on the channel of the process: one that only sets its exit status stays.
  const start = `process.on('message', () => {}); Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(start)}`];
  const child = fork(main, ['worker'], { cwd, execArgv, env: { SCHEDULE_REVIEWS: '' }, silent: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => said.push(text));
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(said.join('')).toMatch(sentence);
});

test('no hint starts a stranger’s package by npx', async () => {
  const files = globSync('{src,jobs}/**/*.ts', { cwd: root });
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')));
  expect(files.filter((_, index) => /npx (--no )?review-sync/.test(texts[index] ?? ''))).toEqual([]);
  expect(files.length).toBeGreaterThan(200);
});
