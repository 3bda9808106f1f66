import { existsSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './processes.ts';

/** A shop cannot be tried on this machine. The message says why, and the next step. */
export class ShopUnavailable extends Error {}

/**
 * Installs the packages of a shop beside its package.json, unless those of its lock file are there. Its scripts are not
 * run.
 *
 * @throws ShopUnavailable where npm does not succeed, for example without a network.
 */
export async function installShop(folder: string): Promise<void> {
  const lock = join(folder, 'package-lock.json');
  // A copy of the lock file that was installed to its end.
  const installed = join(folder, 'node_modules', '.installed-lock.json');
  if (existsSync(installed) && (await readFile(installed, 'utf8')) === (await readFile(lock, 'utf8'))) return;
  console.log(`installing ${folder} (once; some minutes)`);
  // Not `npm ci`: it refuses a lock file that lacks optional packages of other platforms, which not every registry has.
  const { status, output } = await runProgram(
    ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional'],
    { cwd: folder, environment: process.env, program: 'npm' },
  );
  if (status !== 0) {
    throw new ShopUnavailable(
      `npm install ended with status ${status} in ${folder}:\n${output.slice(-1500)}\n` +
        'The packages come from the npm registry: check the network and the registry that npm uses (npm config get registry), then run the command again.',
    );
  }
  await copyFile(lock, installed);
}
