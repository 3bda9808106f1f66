import { createHash } from 'node:crypto';
import { lstat, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { IncompleteError, UsageError } from '../base/errors.ts';
import { makeFolder } from '../base/make-folder.ts';
import { type BiSnapshot, withBiSnapshot } from '../warehouse/bi/bi-snapshot.ts';
import type { Warehouse } from '../warehouse/index.ts';
import {
  againHint,
  format,
  type Manifest,
  type ManifestFile,
  monthsOf,
  pathOf,
  readManifest,
  replaceFile,
  writeManifest,
} from './manifest.ts';
import { type FileContent, textOf, writeParquet } from './parquet-file.ts';

/**
 * The exported views of `bi`. All other views can be computed from them. `by`: the date column that assigns rows to
 * monthly files; a view without it has few rows and one file. `order`: equal rows give equal bytes, and readers can
 * skip row groups by date.
 */
const exportedTables: readonly { name: string; by?: string; order: readonly string[] }[] = [
  { name: 'reviews', by: 'created_at', order: ['created_at', 'review_id'] },
  {
    name: 'sub_orders',
    by: 'ordered_at',
    order: ['ordered_at', 'order_key', 'product_id', 'status', 'delivered_at', 'price'],
  },
  { name: 'replies', by: 'reviewed_at', order: ['reviewed_at', 'review_id', 'position'] },
  { name: 'product_ratings', order: ['product_id', 'product_code'] },
  { name: 'coverage_by_day', order: ['day'] },
  { name: 'freshness', order: [] },
];

export type ExportReport = {
  dir: string;
  takenAt: string;
  /** Paths within `dir`. `unchanged`: number of files that were left as they are. */
  written: { path: string; rows: number; bytes: number }[];
  removed: string[];
  unchanged: number;
  tables: { table: string; files: number; rows: number; bytes: number }[];
};

/** `month`: as in BiSnapshot.months; null: the table has one file. `kept`: the manifest's entry, if still valid. */
type PlannedFile = Pick<ManifestFile, 'month' | 'version'> & {
  table: (typeof exportedTables)[number];
  path: string;
  kept: ManifestFile | undefined;
};

/**
 * Writes views of `bi` as Parquet files, one per month, into a folder. Writes only files with rows that changed since
 * the last export into the folder.
 *
 * 1. Take a snapshot of `bi`, and read the manifest of the folder.
 * 2. Plan: a file is written again if its version has changed, if it is missing, or if its length differs from the
 *    manifest.
 * 3. Mark the export as incomplete in the manifest, and list every file that may change or appear without a version:
 *    after a crash, the next export writes or removes them.
 * 4. Write each such file in one step. If its month no longer has rows, remove it.
 * 5. Write the manifest.
 *
 * @param onProgress called after each file with the number of files done, and of all files.
 * @throws UsageError if the folder holds something else, or the export of another warehouse.
 */
export async function exportParquet(
  source: Warehouse,
  dir: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress(done: number, total: number): void },
): Promise<ExportReport> {
  return withBiSnapshot(source, async (snapshot) => {
    // Read it after the snapshot, which only one export of the warehouse has at a time: another one may have written
    // the folder.
    const before = await readManifest(dir);
    const { warehouse, timeZone, takenAt } = snapshot;
    if (before && before.warehouse !== warehouse) {
      throw new UsageError(`${dir} is the export of another warehouse`, { hint: 'Name an empty folder.' });
    }
    const manifest: Manifest = { format, formatVersion: 1, warehouse, timeZone, takenAt, complete: true, files: {} };
    const report: ExportReport = { dir, takenAt, written: [], removed: [], unchanged: 0, tables: [] };
    const planned = await planFiles(dir, snapshot, before);
    const unsure = planned.map(({ path, table, month, kept }) => {
      return [path, kept ?? { rows: 0, bytes: 0, table: table.name, month, version: null }] as const;
    });
    await writeManifest(dir, { ...(before ?? manifest), complete: false, files: Object.fromEntries(unsure) });
    for (const [index, file] of planned.entries()) {
      if (signal.aborted) throw new IncompleteError('The export was interrupted', { hint: againHint });
      const { path, table, month, version, kept } = file;
      const written = kept ? undefined : await writeRows(snapshot, dir, file);
      if (kept) {
        manifest.files[path] = kept;
        report.unchanged += 1;
      } else if (written) {
        manifest.files[path] = { ...written, table: table.name, month, version };
        report.written.push({ path, ...written });
      } else if (before?.files[path] && (await removeFile(dir, path))) {
        report.removed.push(path);
      }
      onProgress(index + 1, planned.length);
    }
    for (const { name } of exportedTables) {
      const files = Object.values(manifest.files).filter(({ table }) => table === name);
      const sum = (of: 'rows' | 'bytes') => files.reduce((total, file) => total + file[of], 0);
      report.tables.push({ table: name, files: files.length, rows: sum('rows'), bytes: sum('bytes') });
    }
    await writeManifest(dir, manifest);
    return report;
  });
}

/** Every file that the export has, had or may have: one per table, or one per month in the warehouse or the folder. */
async function planFiles(dir: string, { views, timeZone, months }: BiSnapshot, before: Manifest | undefined) {
  const planned: PlannedFile[] = [];
  const names = new Set([...months.keys(), ...(before ? monthsOf(before) : [])]);
  for (const table of exportedTables) {
    for (const month of table.by ? [...names].sort() : [null]) {
      const parts = [views.get(table.name)?.definition, timeZone, months.get(month ?? '')];
      const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
      const version = month === null ? null : hash;
      const path = pathOf(table.name, month);
      const found = version === null || before?.files[path]?.version !== version ? undefined : before.files[path];
      const entry = found && (await stat(join(dir, path)).catch(() => undefined));
      planned.push({ table, path, month, version, kept: entry?.size === found?.bytes ? found : undefined });
    }
  }
  return planned;
}

/** Writes the rows of a file; undefined if its month has no rows. */
async function writeRows(
  snapshot: BiSnapshot,
  dir: string,
  { table, path, month }: PlannedFile,
): Promise<FileContent | undefined> {
  const { name: view, by, order } = table;
  const rows = snapshot.rows({ view, order, textOf, ...(by && month !== null && { month: { by, name: month } }) });
  const columns = snapshot.views.get(view)?.columns ?? [];
  const target = join(dir, path);
  const first = await rows.next();
  if (first.done && month !== null) return undefined;
  await makeFolderWithin(dir, dirname(target));
  const batches = async function* () {
    if (!first.done) yield first.value;
    yield* rows;
  };
  return await replaceFile(target, (handle) => writeParquet(handle, columns, batches()));
}

/** Creates the folder of a file. @throws UsageError if it is a link to a place outside the export. */
async function makeFolderWithin(dir: string, folder: string): Promise<void> {
  await makeFolder(folder);
  const inside = relative(await realpath(dir), await realpath(folder));
  if (inside.startsWith('..') || isAbsolute(inside)) {
    throw new UsageError(`${folder} is a link to a place outside of ${dir}`, { hint: 'Name an empty folder.' });
  }
}

/** Removes the file of a month without rows, and its folder if that is empty. @returns whether the file existed. */
async function removeFile(dir: string, path: string): Promise<boolean> {
  const target = join(dir, path);
  await makeFolderWithin(dir, dirname(target));
  const isThere = (await lstat(target).catch(() => undefined)) !== undefined;
  await rm(target, { force: true });
  await rmdir(dirname(target)).catch(() => {});
  return isThere;
}
