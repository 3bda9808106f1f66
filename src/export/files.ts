import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a temporary file beside `path`, whose name no reader of Parquet files takes for one. `place` puts it at
 * `path`: until then, and if this process dies, the file that is there stays as it is.
 */
export async function writeBeside<T>(
  path: string,
  write: (handle: FileHandle) => Promise<T>,
): Promise<{ written: T; place(): Promise<void>; discard(): Promise<void> }> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  const discard = () => rm(temporary, { force: true });
  // What another user of the folder put at its place, such as a link, is not followed.
  await discard();
  const handle = await open(temporary, 'wx');
  try {
    const written = await write(handle);
    await handle.sync();
    const place = async () => {
      await rename(temporary, path);
      await syncFolder(dirname(path));
    };
    return { written, place, discard };
  } catch (error) {
    await discard();
    throw error;
  } finally {
    await handle.close();
  }
}

/** After this, a loss of power does not undo a rename or a removal. Windows cannot do it, and does not need to. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
