import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

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

/** The packages that the command line loads for these arguments, without any configuration. */
async function packagesOf(...args: string[]): Promise<string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(listPackages)}`;
  const run = promisify(execFile)(process.execPath, ['--import', hook, main, ...args], { env: {} });
  const { stderr } = await run.catch((failed: { stderr: string }) => failed);
  return JSON.parse(stderr.split('\n').at(-1) ?? '') as string[];
}

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
