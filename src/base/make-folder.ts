import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it. Unlike `mkdir` with `recursive`, it ends where the system refuses a folder below
 * one that exists, as in /proc.
 *
 * @throws the error of the system.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) {
      await makeFolder(dirname(path), mode);
      await mkdir(path, { mode });
    } else if (!(await stat(path).catch(() => undefined))?.isDirectory()) throw error;
  }
}
