import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UsageError } from '../base/errors.ts';
import type { Freshness } from '../warehouse/bi/bi-snapshot.ts';
import { makeFolder, type WrittenFile, writeWhole } from './parquet-file.ts';

/**
 * A file of the export. `version`: what the warehouse said of the month when the file was written; null: a table
 * without months.
 */
export type ManifestFile = WrittenFile & { table: string; month: string | null; version: string | null };

type ManifestTable = { rows: number; definition: string; columns: { name: string; type: string }[] };

/** DIR/manifest.json: what the export holds. Written last, so that it never names a file that is not there yet. */
export type Manifest = {
  format: 'review-sync parquet export';
  formatVersion: 1;
  /** Identifies the warehouse. */
  warehouse: string;
  /** The zone of days and months. */
  timeZone: string;
  /** The moment that the export shows, and how new the data of the warehouse was then. */
  takenAt: string;
  freshness: Freshness;
  /**
   * Files that are being written, removed or replaced: they may be newer than `takenAt`, or gone. Empty: the export is
   * complete and shows one moment.
   */
  writing: string[];
  tables: Record<string, ManifestTable>;
  /** By path within DIR. */
  files: Record<string, ManifestFile>;
  /** Versions of months without rows, by the path that their file would have. */
  emptyMonths: Record<string, string>;
};

const format = 'review-sync parquet export';
const manifestPath = (dir: string) => join(dir, 'manifest.json');

/**
 * Reads the manifest of an export and creates the folder where it is missing.
 *
 * @returns undefined where the folder is empty.
 * @throws UsageError where the folder holds something else.
 */
export async function readManifest(dir: string): Promise<Manifest | undefined> {
  await makeFolder(resolve(dir)).catch((cause: unknown) => {
    throw new UsageError(`${dir} cannot be made a folder`, { cause });
  });
  const entries = await readdir(dir);
  const ours = ['manifest.json', '.manifest.json.part'];
  if (!entries.includes('manifest.json')) {
    // A first export that died before its manifest was there leaves the temporary file alone.
    if (entries.every((entry) => ours.includes(entry))) return undefined;
    throw new UsageError(
      `${dir} is no export of review-sync and not empty (it holds ` +
        `${entries.sort().slice(0, 3).join(', ')}${entries.length > 3 ? ', …' : ''})`,
      { hint: 'Name an empty folder, or the folder of an earlier export.' },
    );
  }
  const text = await readFile(manifestPath(dir), 'utf8');
  const manifest = parsed(text);
  if (manifest?.format !== format) {
    throw new UsageError(`${manifestPath(dir)} is not the manifest of an export of review-sync`, {
      hint: 'Name an empty folder. If an export was here, delete the folder or restore its manifest.json.',
    });
  }
  if (manifest.formatVersion !== 1) {
    throw new UsageError(`${manifestPath(dir)} has format version ${manifest.formatVersion}, expected 1`, {
      hint: 'A newer version of review-sync wrote it. Use that version, or an empty folder.',
    });
  }
  const foreign = [manifest.files, manifest.emptyMonths]
    .flatMap((paths) => Object.keys(paths ?? {}))
    .concat(manifest.writing ?? [])
    .find((path) => !ownPath.test(path));
  if (foreign !== undefined) {
    throw new UsageError(
      `${manifestPath(dir)} names ${JSON.stringify(foreign)}, which no export of review-sync writes`,
      {
        hint: 'Somebody else has changed it. Name an empty folder.',
      },
    );
  }
  return manifest;
}

/** Paths of an export: what a manifest names is written and removed, and a month is asked for. */
const ownPath = /^[a-z_]+\/(month=([\d-]{4,6}-(0[1-9]|1[0-2])|__HIVE_DEFAULT_PARTITION__)\/)?data\.parquet$/;

function parsed(text: string): Manifest | undefined {
  try {
    return JSON.parse(text) as Manifest | undefined;
  } catch {
    return undefined;
  }
}

export function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  return writeWhole(manifestPath(dir), `${JSON.stringify(manifest, null, 1)}\n`);
}

/**
 * Whether the file is there as the manifest says: by its length, which a file that was cut off has not; with
 * `byContent` also by its hash, for which all of it is read.
 */
export async function isIntact(path: string, file: ManifestFile, byContent: boolean): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true || found.size !== file.bytes) return false;
  if (!byContent) return true;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex') === file.sha256;
}
