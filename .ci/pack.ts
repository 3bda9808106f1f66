import { execFileSync } from 'node:child_process';
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// `npm pack` runs this before and after. In the repository Node runs the source as it stands; under node_modules it strips
// no types, so a package carries compiled JavaScript with types, and its package.json points there.
const root = join(import.meta.dirname, '..');
const [manifest, kept] = [join(root, 'package.json'), join(root, 'dist', 'package.source.json')];

if (process.argv[2] === 'before') {
  // Left by a pack that was killed: what it kept is the source.
  await rename(kept, manifest).catch(() => {});
  await rm(join(root, 'dist'), { recursive: true, force: true });
  execFileSync('tsc', ['-p', join('.ci', 'tsconfig.build.json')], { cwd: root, stdio: ['ignore', 2, 2] });
  await copyFile(manifest, kept);
  const {
    private: _private,
    scripts: _scripts,
    devDependencies: _tools,
    optionalDependencies: _node,
    allowScripts: _allowed,
    ...source
  } = JSON.parse(await readFile(manifest, 'utf8'));
  const client = './dist/src/review-api/index';
  const packed = {
    ...source,
    bin: { 'review-sync': 'dist/src/cli/main.js' },
    exports: { './client': { types: `${client}.d.ts`, default: `${client}.js` }, './package.json': './package.json' },
    engines: { node: '>=22.19' },
  };
  await writeFile(manifest, `${JSON.stringify(packed, null, 2)}\n`);
} else await rename(kept, manifest);
