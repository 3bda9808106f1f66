import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ExportReport } from '../../src/export/export-parquet.ts';
import type { Manifest } from '../../src/export/manifest.ts';
import { openDuck } from '../harness/servers.ts';
import { openWorld } from '../harness/world.ts';

export type ExportWorld = Awaited<ReturnType<typeof openExportWorld>>;

/**
 * A warehouse, a folder into which it is exported, and a DuckDB that reads the folder.
 *
 * @param sync whether the sample shop and its reviews are in the warehouse. Without it, the warehouse is empty.
 */
export async function openExportWorld({ sync }: { sync: boolean }) {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openWorld(sync ? { shop: 'sample' } : {}));
  const duck = opened.use(await openDuck());
  const dir = await mkdtemp(join(tmpdir(), 'review-sync-export-'));
  opened.defer(() => rm(dir, { recursive: true }));
  for (const flow of sync ? ['reviews', 'catalog', 'orders'] : [])
    expect(await world.run(`sync-${flow}`)).toMatchObject({ outcome: 'done' });
  const all = opened.move();
  return {
    world,
    dir,
    duck,
    /** Exports, and requires that it ends well. */
    async export(): Promise<ExportReport> {
      const end = await world.cli('export parquet --json --to', dir);
      expect(end).toMatchObject({ status: 0 });
      return JSON.parse(end.stdout);
    },
    manifest: async (): Promise<Manifest> => JSON.parse(await readFile(join(dir, 'manifest.json'), 'utf8')),
    /** Every file of the folder, hidden ones too, with the time of its last change. */
    async files() {
      const found = new Map<string, number>();
      for (const path of (await readdir(dir, { recursive: true })).sort()) {
        // An export that is running renames its temporary files.
        const entry = await stat(join(dir, path)).catch(() => undefined);
        if (entry?.isFile()) found.set(path, entry.mtimeMs);
      }
      return found;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Inserts reviews with the columns given. The id counts up from 1 unless it is given. They are not counted. */
export async function insertReviews({ world }: ExportWorld, reviews: readonly Record<string, unknown>[]) {
  const rows = reviews.map((review) => ({ updated_at: review.created_at, ...review }));
  await world.warehouse(
    `insert into warehouse.reviews (id, created_at, updated_at, score, product_id, product_code, user_name, message, store_name,
      tag_name, deleted_at)
    select coalesce(r.id, (select coalesce(max(id), 0) from warehouse.reviews) + row_number() over ()), r.created_at, r.updated_at,
      r.score, r.product_id, r.product_code, r.user_name, r.message, r.store_name, r.tag_name, r.deleted_at
    from jsonb_populate_recordset(null::warehouse.reviews, $1) as r`,
    [JSON.stringify(rows)],
  );
}

/** A column of a view as text that Postgres and DuckDB write in the same way. */
const canonical: Readonly<Record<string, { postgres: (c: string) => string; duck: (c: string) => string }>> = {
  'timestamp with time zone': {
    postgres: (c) => `case when isfinite(${c}) then (extract(epoch from ${c}) * 1000000)::bigint::text end`,
    duck: (c) => `epoch_us(${c})::varchar`,
  },
  date: { postgres: (c) => `(${c} - date '1970-01-01')::text`, duck: (c) => `(${c} - date '1970-01-01')::varchar` },
  numeric: { postgres: (c) => `round(${c}, 9)::text`, duck: (c) => `${c}::varchar` },
};

/** Fails unless the files hold exactly the rows of all exported views, by every column. */
export async function expectSameAsWarehouse({ world, dir, duck, manifest }: ExportWorld): Promise<void> {
  const files = Object.values((await manifest()).files);
  for (const table of ['reviews', 'sub_orders', 'product_ratings', 'coverage_by_day', 'freshness']) {
    const columns = await world.warehouse<{ name: string; type: string }>(
      `select column_name as name, data_type as type from information_schema.columns
      where table_schema = 'bi' and table_name = $1 order by ordinal_position`,
      [table],
    );
    const texts = (of: 'postgres' | 'duck', text: string) =>
      columns.map(({ name, type }) => canonical[type]?.[of](name) ?? `${name}::${text}`).join(', ');
    const inWarehouse = await world.warehouse<{ row: (string | null)[] }>(
      `select array[${texts('postgres', 'text')}] as row from bi.${table}`,
    );
    const inFiles = (await hasFiles(dir, table))
      ? await duck.rows(`select ${texts('duck', 'varchar')} from read_parquet('${dir}/${table}/**/*.parquet')`)
      : [];
    expect(sorted(inFiles)).toEqual(sorted(inWarehouse.map(({ row }) => row)));
    const ofTable = files.filter((file) => file.table === table);
    expect(ofTable.reduce((sum, { rows }) => sum + rows, 0)).toBe(inWarehouse.length);
  }
}

const hasFiles = async (dir: string, table: string) =>
  (await readdir(join(dir, table), { recursive: true }).catch(() => [])).some((path) => path.endsWith('.parquet'));

const sorted = (rows: readonly unknown[][]) => rows.map((row) => JSON.stringify(row)).sort();

/** Paths of the files of reviews and sub-orders that the export wrote. */
export const writtenMonths = ({ written }: ExportReport) =>
  written.map(({ path }) => path).filter((path) => path.includes('month='));

export const monthFile = (table: 'reviews' | 'replies' | 'sub_orders', month: string) =>
  `${table}/month=${month}/data.parquet`;
