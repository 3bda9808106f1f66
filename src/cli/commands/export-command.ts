import { join } from 'node:path';
import { counted, formatCount } from '../../base/counts.ts';
import { UsageError } from '../../base/errors.ts';
import { type ExportReport, exportParquet } from '../../export/export-parquet.ts';
import type { Context, Define, Report } from '../command.ts';
import { openProgress } from '../ui/progress.ts';
import { blocks, firstLines, table } from '../ui/table.ts';
import { inWarehouse } from '../with-app.ts';

export const define: Define = (commander, run) => {
  commander
    .command('parquet')
    .description('write the data of bi as Parquet files, one per month; only months that changed since the last time')
    .requiredOption('--to <folder>', 'an empty folder, or that of an earlier export')
    .addHelpText(
      'after',
      `
The folder holds manifest.json and <table>/month=<yyyy-mm>/data.parquet; examples/lake/README.md shows how BigQuery, Snowflake, Spark
and DuckDB read it. With BRANDS_DIR each brand is a folder of its own in it, brand=<name>. No file shows a name, a code or a contact of a member.`,
    )
    .action(({ to }: { to: string }) => run((context) => runExport(context, to)));
};

async function runExport(context: Context, to: string): Promise<Report> {
  if (to.trim() === '' || /^[a-z][a-z0-9+.-]+:\/\//i.test(to)) {
    const hint = 'Copy the folder to object storage afterwards, as examples/lake/README.md shows.';
    throw new UsageError(`--to is ${JSON.stringify(to)}, expected a folder of this machine`, { hint });
  }
  const dir = context.brand === undefined ? to : join(to, `brand=${context.brand}`);
  const progress = openProgress(context.terminal, 'export parquet', 'files');
  return inWarehouse(context, async (warehouse) => {
    const report = await exportParquet(warehouse, dir, { signal: context.signal, onProgress: progress.update });
    return { text: draw(report), json: report };
  }).finally(() => progress.stop());
}

function draw({ dir, takenAt, written, removed, unchanged, tables }: ExportReport): string {
  const changes = [
    ...written.map(({ path, rows, bytes }) => `wrote ${path} (${counted(rows, 'row')}, ${size(bytes)})`),
    ...removed.map((path) => `removed ${path}`),
  ];
  const rows = tables.map((one) => [one.table, formatCount(one.files), formatCount(one.rows), size(one.bytes)]);
  return blocks(
    firstLines(changes),
    table(['table', 'files', 'rows', 'size'], rows),
    `${dir} shows the warehouse as of ${takenAt.slice(0, 19)}Z: ` +
      `${formatCount(written.length)} files written, ${formatCount(removed.length)} removed, ` +
      `${formatCount(unchanged)} unchanged.`,
  );
}

function size(bytes: number): string {
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
