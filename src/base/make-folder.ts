import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, where they are not there. `mkdir` of Node with `recursive` does not end where the
 * system refuses a name in a folder that is there, as below /proc.
 *
 * @throws Error of the system, such as ENOENT, EACCES or ENOTDIR.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isThere = async () => (await stat(path).catch(() => undefined))?.isDirectory() === true;
    if (code === 'EEXIST' && (await isThere())) return;
    if (code !== 'ENOENT') throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}
