import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ParquetColumn } from './parquet-schema.ts';

/** What a file holds. `sha256`: of all its bytes, in hex. */
export type WrittenFile = { rows: number; bytes: number; sha256: string };

/** A file that is written and not at its place yet. */
export type PendingFile = WrittenFile & { place(): Promise<void>; discard(): Promise<void> };

/**
 * Rows of a row group, which is what stands in memory. 50,000 rows of bi.reviews: 40 MB. Readers skip whole groups by
 * their statistics.
 */
const rowsOfAGroup = 50_000;
/** Long texts end a row group earlier. */
const charactersOfAGroup = 32_000_000;

/**
 * Writes rows to a temporary file beside `path`, whose name no reader of Parquet files takes for one. `place` puts it
 * at `path`: until then, and if this process dies, the file that is there stays as it is.
 */
export async function writeParquetFile(
  path: string,
  columns: readonly ParquetColumn[],
  rows: AsyncIterable<readonly (string | null)[][]>,
): Promise<PendingFile> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  const handle = await openNew(temporary);
  try {
    const written = await writeRows(handle, columns, rows);
    await handle.sync();
    return {
      ...written,
      place: async () => {
        await rename(temporary, path);
        await syncFolder(dirname(path));
      },
      discard: () => rm(temporary, { force: true }),
    };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

async function writeRows(
  handle: FileHandle,
  columns: readonly ParquetColumn[],
  batches: AsyncIterable<readonly (string | null)[][]>,
): Promise<WrittenFile> {
  const hash = createHash('sha256');
  const bytes = new ByteWriter();
  const flush = async () => {
    const chunk = bytes.getBytes();
    hash.update(chunk);
    await handle.writeFile(chunk);
    bytes.index = 0;
  };
  const file = new ParquetWriter({
    writer: Object.assign(bytes, { flush, finish: flush }),
    schema: [{ name: 'schema', num_children: columns.length }, ...columns.map(({ element }) => element)],
    createdBy: 'review-sync',
  });
  let [rows, characters] = [0, 0];
  let values: unknown[][] = columns.map(() => []);
  const endGroup = async () => {
    const columnData = columns.map(({ name }, index) => ({ name, data: values[index] ?? [] }));
    await file.write({ columnData, rowGroupSize: rowsOfAGroup });
    values = columns.map(() => []);
    characters = 0;
  };
  for await (const batch of batches) {
    for (const row of batch) {
      for (const [index, column] of columns.entries()) {
        const text = row[index] ?? null;
        values[index]?.push(text === null ? null : column.valueOf(text));
        characters += text?.length ?? 0;
      }
      rows += 1;
      if (values[0]?.length === rowsOfAGroup || characters >= charactersOfAGroup) await endGroup();
    }
  }
  if ((values[0]?.length ?? 0) > 0) await endGroup();
  await file.finish();
  return { rows, bytes: bytes.offset, sha256: hash.digest('hex') };
}

/** Writes a small file in one step: a reader sees the old content or the new one. */
export async function writeWhole(path: string, content: string): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  const handle = await openNew(temporary);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** Opens a file that was not there: what another user of the folder put at its place, such as a link, is not followed. */
async function openNew(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx');
}

/**
 * Makes a folder and those above it. Unlike `mkdir` with `recursive`, it ends where the system refuses a folder below
 * one that exists, as in /proc.
 *
 * @throws the error of the system.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) {
      await makeFolder(dirname(path));
      await mkdir(path);
    } else if (!(await stat(path).catch(() => undefined))?.isDirectory()) throw error;
  }
}

/** After this, a loss of power does not undo a rename or a removal. Windows cannot do it, and does not need to. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
