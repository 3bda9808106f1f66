import { realpath, rm, rmdir } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { describeError, IncompleteError, UsageError } from '../base/errors.ts';
import { type BiSnapshot, withBiSnapshot } from '../warehouse/bi/bi-snapshot.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { exportedTables } from './exported-tables.ts';
import { isIntact, type Manifest, readManifest, writeManifest } from './manifest.ts';
import { makeFolder, syncFolder, writeParquetFile } from './parquet-file.ts';
import { parquetColumn } from './parquet-schema.ts';
import { type PlannedFile, planFiles } from './plan-files.ts';

export type ParquetDeps = {
  warehouse: Warehouse;
  signal: AbortSignal;
  /** Files done and files to look at, after each. */
  onProgress?: (done: number, total: number) => void;
};

export type ExportReport = {
  dir: string;
  takenAt: string;
  /** Paths within `dir`. `unchanged`: number of files that were left as they are. */
  written: { path: string; rows: number; bytes: number }[];
  removed: string[];
  unchanged: number;
  tables: { table: string; files: number; rows: number; bytes: number }[];
};

/**
 * Writes the views of `tables.ts` as Parquet files, one per month, into a folder; only those whose rows changed since
 * the last export into it.
 *
 * 1. Read the manifest of the folder, and take a snapshot of `bi`.
 * 2. Plan: a file is written again where its month has another version, the view another definition or time zone, where
 *    the file is missing or has another length than the manifest says, and where an earlier export may have died while
 *    it replaced it.
 * 3. Write each such file beside its place. Where its bytes are those of the manifest, drop it.
 * 4. Before the first change in the folder, write into the manifest which files may change: a later export finds them
 *    all after a crash, and a reader sees that the export is not complete.
 * 5. Put the file at its place; remove it where its month has no rows any more.
 * 6. Write the manifest.
 *
 * @param all reads every month and every file again, and writes those that differ, whatever versions and lengths say.
 * @throws UsageError where the folder holds something else, or the export of another warehouse.
 */
export async function exportParquet(deps: ParquetDeps, dir: string, { all = false } = {}): Promise<ExportReport> {
  const before = await readManifest(dir);
  return withBiSnapshot(deps.warehouse, async (snapshot) => {
    if (before && before.warehouse !== snapshot.warehouse) {
      throw new UsageError(`${dir} is the export of another warehouse`, { hint: 'Name an empty folder.' });
    }
    const manifest: Manifest = {
      format: 'review-sync parquet export',
      formatVersion: 1,
      warehouse: snapshot.warehouse,
      timeZone: snapshot.timeZone,
      takenAt: snapshot.takenAt,
      freshness: snapshot.freshness,
      writing: [],
      tables: {},
      files: {},
      emptyMonths: {},
    };
    const isAsBefore = async (path: string) => {
      const file = before?.files[path];
      return file !== undefined && (await isIntact(join(dir, path), file, all));
    };
    const planned = await planFiles(snapshot, before, { all, isAsBefore });
    const changing = planned.filter(({ isChanged }) => isChanged);
    const begin = once(async () => {
      const unchanged = before ?? manifest;
      await writeManifest(dir, { ...unchanged, writing: changing.map(({ path }) => path).sort() });
    });
    const report: ExportReport = { dir, takenAt: snapshot.takenAt, written: [], removed: [], unchanged: 0, tables: [] };
    for (const [index, file] of planned.entries()) {
      if (deps.signal.aborted) throw new IncompleteError('The export was interrupted', { hint: againHint });
      const kept = before?.files[file.path];
      if (file.isChanged) {
        await writeFile(snapshot, { dir, file, before, manifest, report, begin, isAsBefore });
      } else if (kept) {
        manifest.files[file.path] = kept;
        report.unchanged += 1;
      } else {
        manifest.emptyMonths[file.path] = file.month?.version ?? '';
      }
      deps.onProgress?.(index + 1, planned.length);
    }
    for (const { name } of exportedTables) {
      const files = Object.values(manifest.files).filter(({ table }) => table === name);
      const sum = (of: 'rows' | 'bytes') => files.reduce((total, file) => total + file[of], 0);
      report.tables.push({ table: name, files: files.length, rows: sum('rows'), bytes: sum('bytes') });
      manifest.tables[name] = {
        rows: sum('rows'),
        definition: snapshot.views.get(name)?.definition ?? '',
        columns: exportedColumns(snapshot, name).map((column) => ({ name: column.name, type: column.type })),
      };
    }
    await writeManifest(dir, manifest);
    return report;
  });
}

const againHint = 'Run this again: it goes on with what is missing.';

type Target = {
  dir: string;
  file: PlannedFile;
  before: Manifest | undefined;
  manifest: Manifest;
  report: ExportReport;
  begin: () => Promise<void>;
  isAsBefore: (path: string) => Promise<boolean>;
};

async function writeFile(snapshot: BiSnapshot, target: Target): Promise<void> {
  const { dir, file, before, manifest, report, begin } = target;
  const path = join(dir, file.path);
  await makeFolderWithin(dir, dirname(path));
  const month = file.month && { by: file.month.by, first: file.month.first };
  const rows = snapshot.rows({ view: file.table.name, order: file.table.order, ...(month && { month }) });
  const pending = await writeParquetFile(path, exportedColumns(snapshot, file.table.name), rows).catch(
    (cause: unknown) => {
      throw new IncompleteError(`${path} could not be written: ${describeError(cause)}`, { cause, hint: againHint });
    },
  );
  const written = { rows: pending.rows, bytes: pending.bytes, sha256: pending.sha256 };
  if (file.month && pending.rows === 0) {
    await pending.discard();
    manifest.emptyMonths[file.path] = file.month.version;
    await removeFile(target);
    return;
  }
  const entry = {
    ...written,
    table: file.table.name,
    month: file.month?.name ?? null,
    version: file.month?.version ?? null,
  };
  manifest.files[file.path] = entry;
  const isSame = before?.files[file.path]?.sha256 === pending.sha256 && !before.writing.includes(file.path);
  if (isSame && (await target.isAsBefore(file.path))) {
    await pending.discard();
    report.unchanged += 1;
    return;
  }
  await begin();
  await pending.place();
  report.written.push({ path: file.path, rows: pending.rows, bytes: pending.bytes });
}

/**
 * Makes the folder of a file.
 *
 * @throws UsageError where it is a link to a place outside of the export.
 */
async function makeFolderWithin(dir: string, folder: string): Promise<void> {
  await makeFolder(folder);
  const inside = relative(await realpath(dir), await realpath(folder));
  if (inside.startsWith('..') || isAbsolute(inside)) {
    throw new UsageError(`${folder} is a link to a place outside of ${dir}`, { hint: 'Name an empty folder.' });
  }
}

/** Removes the file of a month without rows, and its folder where nothing else is in it. */
async function removeFile({ dir, file, before, report, begin }: Target): Promise<void> {
  const folder = dirname(join(dir, file.path));
  if (before && (file.path in before.files || before.writing.includes(file.path))) {
    await begin();
    await rm(join(dir, file.path), { force: true });
    report.removed.push(file.path);
  }
  await rmdir(folder).catch(() => {});
  await syncFolder(dirname(folder));
}

const exportedColumns = (snapshot: BiSnapshot, table: string) =>
  (snapshot.views.get(table)?.columns ?? []).map(parquetColumn);

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
