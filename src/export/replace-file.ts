import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a temporary file beside `path`, whose name no reader of Parquet files takes for one, and renames it. If this
 * process dies, the file that is there stays as it is.
 */
export async function replaceFile<T>(path: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  // What another user of the folder put at its place, such as a link, is not followed.
  await rm(temporary, { force: true });
  try {
    await using handle = await open(temporary, 'wx');
    const written = await write(handle);
    await handle.sync();
    await rename(temporary, path);
    return written;
  } finally {
    await rm(temporary, { force: true });
  }
}
