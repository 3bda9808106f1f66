import { type FileHandle, lstat, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../base/errors.ts';
import { parsedJson } from '../base/json-text.ts';
import { makeFolder } from '../base/make-folder.ts';
import type { FileContent } from './parquet-file.ts';

/** `version`: of the rows of the month, the view and the time zone; null: the next export writes the file again. */
export type ManifestFile = FileContent & { table: string; month: string | null; version: string | null };

export const format = 'review-sync parquet export';

/** DIR/manifest.json: what the export holds. Written last, so that it never names a file that is not there yet. */
export type Manifest = {
  format: typeof format;
  formatVersion: 1;
  /** Identifies the warehouse. */
  warehouse: string;
  /** The zone of days and months. */
  timeZone: string;
  /** The moment that the export shows. */
  takenAt: string;
  /** Whether the files show one moment. False: an export is running or has died; files without a version may be newer. */
  complete: boolean;
  /** By path within DIR. */
  files: Record<string, ManifestFile>;
};

/** Paths of an export. */
const ownPath = /^[a-z_]+\/(month=(?<month>\d{4,6}-(0[1-9]|1[0-2])( BC)?|__HIVE_DEFAULT_PARTITION__)\/)?data\.parquet$/;

/** As Hive names the partition of null. */
const noMonth = '__HIVE_DEFAULT_PARTITION__';

/** @param month as in BiSnapshot.months; null: the table has one file. */
export const pathOf = (table: string, month: string | null) =>
  month === null ? `${table}/data.parquet` : `${table}/month=${month || noMonth}/data.parquet`;

/** The months for which the folder has a file. Paths of others, in a manifest that somebody has changed, are none. */
export function monthsOf({ files }: Manifest): string[] {
  const found = Object.keys(files).map((path) => ownPath.exec(path)?.groups);
  return found.flatMap((path) => (path?.month ? [path.month.replace(noMonth, '')] : []));
}

const manifestPath = (dir: string) => join(dir, 'manifest.json');

/**
 * Reads the manifest of an export and makes the folder. @returns undefined if the folder is empty.
 *
 * @throws UsageError if the folder holds something else.
 */
export async function readManifest(dir: string): Promise<Manifest | undefined> {
  await makeFolder(resolve(dir)).catch((cause: unknown) => {
    throw new UsageError(`${dir} cannot be made a folder`, { cause });
  });
  const path = manifestPath(dir);
  const entries = await readdir(dir);
  if (!entries.includes('manifest.json')) {
    // A first export that died before its manifest was there leaves the temporary file alone.
    if (entries.every((entry) => entry === '.manifest.json.part')) return undefined;
    throw new UsageError(
      `${dir} is no export of review-sync and not empty (it holds ` +
        `${entries.sort().slice(0, 3).join(', ')}${entries.length > 3 ? ', …' : ''})`,
      { hint: 'Name an empty folder, or the folder of an earlier export.' },
    );
  }
  if (!(await lstat(path)).isFile()) throw new UsageError(`${path} is no file`);
  const manifest = parsedJson(await readFile(path, 'utf8')) as Manifest | undefined;
  if (manifest?.format !== format || manifest.formatVersion !== 1) {
    throw new UsageError(`${path} is not the manifest of an export of this version of review-sync`, {
      hint: 'Name an empty folder. If an export was here, delete the folder or restore its manifest.json.',
    });
  }
  return manifest;
}

export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  await replaceFile(manifestPath(dir), (handle) => handle.writeFile(text));
}

/** Writes a temporary file beside `path`, whose name no reader of Parquet files takes for one, and renames it. */
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
