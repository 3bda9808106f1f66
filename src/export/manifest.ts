import { type FileHandle, lstat, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { IncompleteError, UsageError } from '../base/errors.ts';
import { parsedJson } from '../base/json-text.ts';
import { makeFolder } from '../base/make-folder.ts';
import type { FileContent } from './parquet-file.ts';

/** `version`: covers the month's rows, the view and the time zone. Null: the next export writes the file again. */
export type ManifestFile = FileContent & { table: string; month: string | null; version: string | null };

export const format = 'review-sync parquet export';

/** DIR/manifest.json: the contents of the export. All files of a complete one exist, because it is written last. */
export type Manifest = {
  format: typeof format;
  formatVersion: 1;
  /** Identifies the warehouse. */
  warehouse: string;
  /** The zone of days and months. */
  timeZone: string;
  /** The instant of the export's snapshot. */
  takenAt: string;
  /** Whether all files show one snapshot. False: an export runs or has died; files without a version may be newer. */
  complete: boolean;
  /** By path within DIR. */
  files: Record<string, ManifestFile>;
};

/** Paths of an export. */
const ownPath = /^[a-z_]+\/(month=(?<month>\d{4,6}-(0[1-9]|1[0-2])( BC)?|__HIVE_DEFAULT_PARTITION__)\/)?data\.parquet$/;

/** Hive's name for the partition of null. */
const noMonth = '__HIVE_DEFAULT_PARTITION__';

/** @param month as in BiSnapshot.months; null: the table has one file. */
export const pathOf = (table: string, month: string | null) =>
  month === null ? `${table}/data.parquet` : `${table}/month=${month || noMonth}/data.parquet`;

/** The months that have a file in the folder. Other paths, in a manifest that a person has changed, are ignored. */
export function monthsOf({ files }: Manifest): string[] {
  const found = Object.keys(files).map((path) => ownPath.exec(path)?.groups);
  return found.flatMap((path) => (path?.month ? [path.month.replace(noMonth, '')] : []));
}

const manifestPath = (dir: string) => join(dir, 'manifest.json');

/**
 * Reads the manifest of an export, and creates the folder. @returns undefined if the folder is empty.
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
    // If a first export died before it wrote its manifest, only the temporary file is left.
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

export const againHint = 'Run this again: it goes on with what is missing.';

/** Writes a temporary file beside `path`, and renames it. No reader takes its name for a Parquet file. */
export async function replaceFile<T>(path: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  try {
    // Another user of the folder may have put a link there. It is not followed.
    await rm(temporary, { force: true });
    await using handle = await open(temporary, 'wx');
    const written = await write(handle);
    await handle.sync();
    await rename(temporary, path);
    return written;
  } catch (cause) {
    throw new IncompleteError(`${path} could not be written`, { cause, hint: againHint });
  } finally {
    await rm(temporary, { force: true }).catch(() => {});
  }
}
