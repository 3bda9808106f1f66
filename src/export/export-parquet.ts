import { createHash } from 'node:crypto';
import { mkdir, realpath, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { describeError, IncompleteError, UsageError } from '../base/errors.ts';
import { type BiSnapshot, withBiSnapshot } from '../warehouse/bi/bi-snapshot.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { syncFolder, writeBeside } from './files.ts';
import { type Manifest, monthsOf, pathOf, readManifest, writeManifest } from './manifest.ts';
import { writeParquet } from './parquet-file.ts';

/**
 * The views of `bi` that are exported. All others can be computed from them: those about reviews by day, product, score
 * or month from `reviews`, those about delivered products from `sub_orders` and `reviews` by `order_key` and
 * `product_id`. `by`: the column by whose month the rows are put into files; a view without it has few rows and one
 * file. `order`: the same rows give the same bytes, and readers can skip row groups by date.
 */
const exportedTables: readonly { name: string; by?: string; order: readonly string[] }[] = [
  { name: 'reviews', by: 'created_at', order: ['created_at', 'review_id'] },
  {
    name: 'sub_orders',
    by: 'ordered_at',
    order: ['ordered_at', 'order_key', 'product_id', 'status', 'delivered_at', 'price'],
  },
  { name: 'product_ratings', order: ['product_id', 'product_code'] },
  { name: 'coverage_by_day', order: ['day'] },
  { name: 'freshness', order: [] },
];

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

/** `month`: as in BiSnapshot.months; undefined: the table has one file. `version`: see ManifestFile. */
type PlannedFile = {
  table: (typeof exportedTables)[number];
  path: string;
  month: string | undefined;
  version: string | null;
};

/**
 * Writes views of `bi` as Parquet files, one per month, into a folder; only those whose rows changed since the last
 * export into it.
 *
 * 1. Read the manifest of the folder, and take a snapshot of `bi`.
 * 2. Plan: a file is written again where its version is another one, where it is missing or has another length than the
 *    manifest says, and where an earlier export may have died while it replaced it.
 * 3. Write into the manifest which files may change: a later export finds them all after a crash, and a reader sees that
 *    the export is not complete.
 * 4. Write each such file beside its place. Where its bytes are those of the manifest, drop it.
 * 5. Put the file at its place; remove it where its month has no rows any more.
 * 6. Write the manifest.
 *
 * @throws UsageError where the folder holds something else, or the export of another warehouse.
 */
export async function exportParquet(
  { warehouse, signal, onProgress }: ParquetDeps,
  dir: string,
): Promise<ExportReport> {
  const before = await readManifest(dir);
  return withBiSnapshot(warehouse, async (snapshot) => {
    if (before && before.warehouse !== snapshot.warehouse) {
      throw new UsageError(`${dir} is the export of another warehouse`, { hint: 'Name an empty folder.' });
    }
    const { timeZone, takenAt } = snapshot;
    const manifest: Manifest = {
      format: 'review-sync parquet export',
      formatVersion: 1,
      warehouse: snapshot.warehouse,
      timeZone,
      takenAt,
      writing: [],
      files: {},
    };
    const report: ExportReport = { dir, takenAt, written: [], removed: [], unchanged: 0, tables: [] };
    // A file that was cut off has another length.
    const isAsBefore = async (path: string) =>
      before?.files[path] !== undefined &&
      !before.writing.includes(path) &&
      (await stat(join(dir, path)).catch(() => undefined))?.size === before.files[path].bytes;
    const isCurrent = async ({ path, version }: PlannedFile) =>
      version !== null && version === before?.files[path]?.version && (await isAsBefore(path));
    const planned = planFiles(snapshot, before);
    const changing = new Set<string>();
    for (const file of planned) if (!(await isCurrent(file))) changing.add(file.path);
    const writing = [...new Set([...(before?.writing ?? []), ...changing])].sort();
    await writeManifest(dir, { ...(before ?? manifest), writing });
    for (const [index, file] of planned.entries()) {
      const { path, table, month = null, version } = file;
      if (signal.aborted) throw new IncompleteError('The export was interrupted', { hint: againHint });
      const kept = before?.files[path];
      const pending = changing.has(path) ? await writePending(snapshot, dir, file) : undefined;
      if (kept && !changing.has(path)) {
        manifest.files[path] = kept;
        report.unchanged += 1;
      } else if (pending) {
        const { written, place, discard } = pending;
        manifest.files[path] = { ...written, table: table.name, month, version };
        if (kept?.sha256 === written.sha256 && (await isAsBefore(path))) {
          await discard();
          report.unchanged += 1;
        } else {
          await place();
          report.written.push({ path, rows: written.rows, bytes: written.bytes });
        }
      } else if (kept || before?.writing.includes(path)) {
        if (await removeFile(dir, path)) report.removed.push(path);
      }
      onProgress?.(index + 1, planned.length);
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

const againHint = 'Run this again: it goes on with what is missing.';

/**
 * Every file that the export has, had or may have: of each table with months a file for each month that the warehouse
 * or the folder knows, of each other table one.
 */
function planFiles({ views, timeZone, months }: BiSnapshot, before: Manifest | undefined): PlannedFile[] {
  return exportedTables.flatMap((table): PlannedFile[] => {
    if (!table.by) return [{ table, path: pathOf(table.name), month: undefined, version: null }];
    const names = new Set([...months.keys(), ...(before ? monthsOf(before, table.name) : [])]);
    return [...names].sort().map((month) => {
      const parts = [views.get(table.name)?.definition, timeZone, months.get(month)];
      const version = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
      return { table, path: pathOf(table.name, month), month, version };
    });
  });
}

/** Writes a file beside its place. Undefined: a month without rows. */
async function writePending(snapshot: BiSnapshot, dir: string, { table, path, month }: PlannedFile) {
  const { name: view, by, order } = table;
  const rows = snapshot.rows({ view, order, ...(by && month !== undefined && { month: { by, name: month } }) });
  const target = join(dir, path);
  try {
    const first = await rows.next();
    if (first.done && month !== undefined) return undefined;
    await makeFolderWithin(dir, dirname(target));
    const batches = async function* () {
      if (!first.done) yield first.value;
      yield* rows;
    };
    const columns = snapshot.views.get(view)?.columns ?? [];
    return await writeBeside(target, (handle) => writeParquet(handle, columns, batches()));
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new IncompleteError(`${target} could not be written: ${describeError(cause)}`, { cause, hint: againHint });
  }
}

/**
 * Makes the folder of a file.
 *
 * @throws UsageError where it is a link to a place outside of the export.
 */
async function makeFolderWithin(dir: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const inside = relative(await realpath(dir), await realpath(folder));
  if (inside.startsWith('..') || isAbsolute(inside)) {
    throw new UsageError(`${folder} is a link to a place outside of ${dir}`, { hint: 'Name an empty folder.' });
  }
}

/**
 * Removes the file of a month without rows, and its folder where nothing else is in it.
 *
 * @returns whether it was there.
 */
async function removeFile(dir: string, path: string): Promise<boolean> {
  const folder = dirname(join(dir, path));
  await makeFolderWithin(dir, folder);
  const isRemoved = await unlink(join(dir, path)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return false;
    },
  );
  await rmdir(folder).catch(() => {});
  await syncFolder(dirname(folder));
  return isRemoved;
}
