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

/** Prints the memory of the two halves of the young generation, in MB. */
const sizeOfYoung = `
  import v8 from 'node:v8';
  process.on('exit', () => {
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    process.stderr.write('\\n' + young.space_size / 1024 / 1024);
  });
`;

/** What a script says at the end of the command line with these arguments, without any configuration. */
async function saidAtTheEnd<T>(script: string, ...args: string[]): Promise<T> {
  const hook = `data:text/javascript,${encodeURIComponent(script)}`;
  const run = promisify(execFile)(process.execPath, ['--import', hook, main, ...args], { env: {} });
  const { stderr } = await run.catch((failed: { stderr: string }) => failed);
  return JSON.parse(stderr.split('\n').at(-1) ?? '') as T;
}

/** The packages that the command line loads. */
const packagesOf = (...args: string[]) => saidAtTheEnd<string[]>(listPackages, ...args);

test('a sync gives its young generation twice 4 MB, whatever loading has made of it', async () => {
  expect(await saidAtTheEnd<number>(sizeOfYoung, 'sync', 'orders')).toBe(8);
});

test.each(['--help', '--version'])('%s loads commander and nothing else', async (option) => {
  expect(await packagesOf(option)).toEqual(['commander']);
});

test('status loads neither clients, server, log nor OpenTelemetry', async () => {
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
