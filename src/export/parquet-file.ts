import type { FileHandle } from 'node:fs/promises';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { BiColumn } from '../warehouse/bi/bi-snapshot.ts';

export type FileContent = { rows: number; bytes: number };

/** Rows of a row group, kept in memory. 50,000 rows of bi.reviews: 40 MB. Readers skip groups by statistics. */
const rowsOfAGroup = 50_000;

export async function writeParquet(
  handle: FileHandle,
  columns: readonly BiColumn[],
  batches: AsyncIterable<readonly (string | null)[][]>,
): Promise<FileContent> {
  const bytes = new ByteWriter();
  const flush = async () => {
    await handle.writeFile(bytes.getBytes());
    bytes.index = 0;
  };
  const types = columns.map(({ type }) => parquetTypes[type] ?? text);
  const elements = columns.map(({ name }, index) => ({
    name,
    repetition_type: 'OPTIONAL' as const,
    ...types[index]?.element,
  }));
  const file = new ParquetWriter({
    writer: Object.assign(bytes, { flush, finish: flush }),
    schema: [{ name: 'schema', num_children: columns.length }, ...elements],
    createdBy: 'review-sync',
  });
  let rows = 0;
  let group: (readonly (string | null)[])[] = [];
  const endGroup = async () => {
    const columnData = columns.map(({ name }, index) => ({
      name,
      data: group.map((row) => (row[index] == null ? null : types[index]?.valueOf(row[index]))),
    }));
    await file.write({ columnData, rowGroupSize: rowsOfAGroup });
    rows += group.length;
    group = [];
  };
  for await (const batch of batches) {
    group.push(...batch);
    if (group.length >= rowsOfAGroup) await endGroup();
  }
  if (group.length > 0) await endGroup();
  await file.finish();
  return { rows, bytes: bytes.offset };
}

/**
 * How a Postgres type is read as a text, declared in a Parquet file, and written. `infinity`, and a numeric of 10^29 or
 * more, become null.
 */
type ParquetType = {
  /** Default: the column's own text. */
  textOf?: (column: string) => string;
  element: Omit<SchemaElement, 'name'>;
  valueOf(text: string): unknown;
};

/** An SQL expression for the values of a column. */
export const textOf = (column: string, type: string) => parquetTypes[type]?.textOf?.(column) ?? column;

const int32: ParquetType = { element: { type: 'INT32' }, valueOf: Number };
/** Any other type: a string in Postgres' own text. */
const text: ParquetType = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  valueOf: (value) => value,
};

const parquetTypes: Readonly<Record<string, ParquetType>> = {
  boolean: { element: { type: 'BOOLEAN' }, valueOf: (value) => value === 'true' },
  smallint: int32,
  integer: int32,
  bigint: { element: { type: 'INT64' }, valueOf: BigInt },
  date: {
    textOf: (column) => `case when isfinite(${column}) then ${column} - date '1970-01-01' end`,
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    valueOf: Number,
  },
  'timestamp with time zone': {
    textOf: (column) => `case when isfinite(${column}) then (extract(epoch from ${column}) * 1000000)::bigint end`,
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
    valueOf: BigInt,
  },
  // Like the type NUMERIC of BigQuery. Snowflake, Spark and DuckDB have the same.
  numeric: {
    textOf: (column) => `case when ${column} > -1e29 and ${column} < 1e29 then round(${column}, 9) end`,
    element: {
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: 16,
      converted_type: 'DECIMAL',
      precision: 38,
      scale: 9,
      logical_type: { type: 'DECIMAL', precision: 38, scale: 9 },
    },
    valueOf: (value) => BigInt(value.replace('.', '')),
  },
};
