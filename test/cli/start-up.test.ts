import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'src', 'cli', 'main.ts');

/** Prints the packages of which a module was loaded, as the last line of standard error. */
const listPackages = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
      if (name) packages.add(name);
      return next(url, context);
    },
  });
  process.on('exit', () => process.stderr.write('\\n' + JSON.stringify([...packages].sort())));
`;

/** The packages that the command line loads with these arguments, without any configuration. */
async function packagesOf(...args: string[]): Promise<string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(listPackages)}`;
  const run = promisify(execFile)(process.execPath, ['--import', hook, main, ...args], { env: {} });
  const { stderr } = await run.catch((failed: { stderr: string }) => failed);
  return JSON.parse(stderr.split('\n').at(-1) ?? '');
}

test('--help loads commander alone; status neither clients, server, log nor OpenTelemetry', async () => {
  expect(await packagesOf('--help')).toEqual(['commander']);
  const loaded = await packagesOf('status');
  expect(loaded).toEqual(expect.arrayContaining(['commander', 'kysely', 'pg']));
  for (const name of ['undici', 'fastify', 'ioredis', 'mysql2', '@opentelemetry/api', 'pino']) {
    expect(loaded).not.toContain(name);
  }
});

test('an old Node ends with a sentence and status 2, also with the channel that pm2 keeps open', async () => {
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
