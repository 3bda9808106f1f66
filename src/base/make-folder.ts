import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, where they are not there. `mkdir` of Node with `recursive` does not end where the
 * system refuses a name in a folder that is there, as below /proc.
 *
 * @throws Error of the system, such as ENOENT, EACCES or EEXIST.
 */
export async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    // Another process may have made it meanwhile.
    if (!(await isFolder(path))) throw error;
  });
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
