import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

/**
 * The folders of docs/architecture.md, from the top down. A file imports from its own folder and from lines further
 * down.
 */
const layers: readonly (readonly string[])[] = [
  ['src/cli'],
  ['jobs', 'src/server', 'src/background'],
  ['src/runs'],
  ['src/app'],
  ['src/orders', 'src/reviews', 'src/webhooks', 'src/alerts', 'src/export'],
  ['src/review-api', 'src/shop', 'src/warehouse', 'src/queue'],
  ['src/base'],
];

/** The same inside of src/orders; files of the folder itself are at the bottom. */
const ordersLayers = [['compare'], ['select', 'push', 'catalog'], ['plan']];

const inSrc = (folder: string) => `src/${folder}`;
/** Never runs in production: each of these may import what is named, and only the command line may import them. */
const sandbox: Readonly<Record<string, readonly string[]>> = {
  'src/sandbox/demo': [...['app', 'warehouse', 'queue', 'review-api', 'base', 'sandbox'].map(inSrc), 'examples'],
  'src/sandbox/embedded-postgres': ['src/base'],
  'src/sandbox/local-mysql': ['src/sandbox/embedded-postgres'],
  'src/sandbox/sample-shop': ['src/base'],
  'src/sandbox/reference-service': ['src/base'],
  examples: ['src/base'],
};

/** Packages that only some places may use. */
const packages: Readonly<Record<string, RegExp>> = {
  'review-sync': /^examples\/client\.ts$/,
  undici: /^src\/review-api\//,
  bullmq: /^src\/queue\//,
  ioredis: /^src\/queue\//,
  'hyparquet-writer': /^src\/export\//,
  kysely: /^src\/warehouse\//,
  mysql2: /^src\/(shop|sandbox)\//,
  '@bull-board': /^src\/server\//,
  luxon: /^src\/(base\/time|sandbox\/sample-shop)\//,
  fastify: /^src\/(sandbox\/reference-service|server)\//,
  commander: /^src\/cli\//,
  'prom-client': /^src\/app\/metrics\.ts/,
  'bullmq-otel': /^src\/queue\//,
  'embedded-postgres': /^src\/sandbox\/embedded-postgres\//,
  pg: /^(src\/(shop|warehouse|queue|sandbox)\/|examples\/)/,
};

type Source = { file: string; text: string; imports: string[]; packages: string[] };

async function sources(...patterns: string[]): Promise<Source[]> {
  const files = patterns.flatMap((one) => globSync(one, { cwd: root }));
  return await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, file), 'utf8');
      const named = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1] ?? '');
      const ours = named.filter((name) => name.startsWith('.'));
      const imports = ours.map((name) => relative(root, join(root, dirname(file), name)));
      return { file, text, imports, packages: named.filter((name) => !/^(\.|node:)/.test(name)) };
    }),
  );
}

const all = await sources('src/**/*.ts', 'jobs/**/*.ts', 'examples/**/*.ts');

test('every file imports from its own folder or from folders further down', () => {
  const isIn = (folder: string, file: string) => file.startsWith(`${folder}/`);
  const faults = all.flatMap(({ file, imports }) => {
    const at = layers.findIndex((folders) => folders.some((folder) => isIn(folder, file)));
    const own = [...(layers[at] ?? []), ...Object.keys(sandbox)].find((folder) => isIn(folder, file));
    if (own === undefined) return [`${file} has no place in the layers`];
    const below = at < 0 ? (sandbox[own] ?? []) : layers.slice(at + 1).flat();
    const may = [own, ...below, ...(own === 'src/cli' ? Object.keys(sandbox) : [])];
    return imports
      .filter((target) => !may.some((folder) => isIn(folder, target)))
      .map((target) => `${file} imports ${target}`);
  });
  expect(faults).toEqual([]);
});

test('what the shop wants knows nothing of how it gets to the service', () => {
  const depth = (file: string) => {
    const at = ordersLayers.findIndex((folders) => folders.some((folder) => file.startsWith(`src/orders/${folder}/`)));
    return at < 0 ? ordersLayers.length : at;
  };
  const inOrders = all.filter(({ file }) => file.startsWith('src/orders/'));
  const faults = inOrders.flatMap(({ file, imports }) =>
    imports
      .filter((target) => target.startsWith('src/orders/') && dirname(target) !== dirname(file))
      .filter((target) => depth(target) <= depth(file))
      .map((target) => `${file} imports ${target}`),
  );
  expect(faults).toEqual([]);
});

test('main.ts is imported by nobody', () => {
  expect(all.filter(({ imports }) => imports.includes('src/cli/main.ts'))).toEqual([]);
});

test('a driver package is used only by the system that it drives', () => {
  const faults = all.flatMap(({ file, packages: used }) =>
    used
      .filter((name) => packages[name.split('/')[0] ?? ''] && !packages[name.split('/')[0] ?? '']?.test(file))
      .map((name) => `${file} uses ${name}`),
  );
  expect(faults).toEqual([]);
});

test('the example of the client imports only what the package exports', () => {
  const example = all.find(({ file }) => file === 'examples/client.ts');
  expect(example).toMatchObject({ imports: [], packages: ['review-sync/client'] });
});

test('the conformance suite shares no code with what it is to judge', async () => {
  const suite = await sources('test/conformance/**/*.ts');
  expect(suite.length).toBeGreaterThan(12);
  const isOwn = (target: string) => target.startsWith('test/conformance/');
  expect(suite.filter(({ imports, packages: used }) => used.length > 0 || !imports.every(isOwn))).toEqual([]);
});

test('only the command line and the example read the environment and end the process', () => {
  const mayEnd = /^(src\/(cli\/(main|start|last-resort)|sandbox\/embedded-postgres\/host)|examples\/client)\.ts$/;
  const ending = all.filter(({ file, text }) => /process\.(env|exit\()/.test(text) && !mayEnd.test(file));
  expect(ending.map(({ file }) => file)).toEqual([]);
});

test('flows, systems and foundation do not read the clock', () => {
  const low = /^src\/(orders|reviews|webhooks|shop|base)\//;
  const reading = all.filter(({ file, text }) => low.test(file) && /Date\.now\(\)|new Date\(\)/.test(text));
  expect(reading.map(({ file }) => file)).toEqual([]);
});
