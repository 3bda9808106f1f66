import type { SchemaElement } from 'hyparquet-writer';
import type { BiColumn } from '../warehouse/bi/bi-snapshot.ts';

/** A column of a Parquet file: how it is declared, and how a value of a snapshot is written. */
export type ParquetColumn = {
  name: string;
  /** The type in words, for the manifest. */
  type: string;
  element: SchemaElement;
  valueOf(text: string): unknown;
};

/**
 * The Parquet column for a column of `bi`. Every column is optional, as columns of views are. A type that is not named
 * here, json for one, is a string in Postgres' own text.
 */
export function parquetColumn({ name, type }: BiColumn): ParquetColumn {
  const column = { name, repetition_type: 'OPTIONAL' } as const;
  switch (type) {
    case 'boolean':
      return { name, type: 'BOOLEAN', element: { ...column, type: 'BOOLEAN' }, valueOf: (text) => text === 'true' };
    case 'smallint':
    case 'integer':
      return { name, type: 'INT32', element: { ...column, type: 'INT32' }, valueOf: Number };
    case 'bigint':
      return { name, type: 'INT64', element: { ...column, type: 'INT64' }, valueOf: BigInt };
    case 'date':
      return {
        name,
        type: 'DATE',
        element: { ...column, type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
        valueOf: Number,
      };
    case 'timestamp with time zone':
      return {
        name,
        type: 'TIMESTAMP(MICROS, UTC)',
        element: {
          ...column,
          type: 'INT64',
          converted_type: 'TIMESTAMP_MICROS',
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
        },
        valueOf: BigInt,
      };
    case 'numeric':
      // As the type NUMERIC of BigQuery; Snowflake, Spark and DuckDB have the same.
      return {
        name,
        type: 'DECIMAL(38, 9)',
        element: {
          ...column,
          type: 'FIXED_LEN_BYTE_ARRAY',
          type_length: 16,
          converted_type: 'DECIMAL',
          precision: 38,
          scale: 9,
          logical_type: { type: 'DECIMAL', precision: 38, scale: 9 },
        },
        valueOf: (text) => BigInt(text.replace('.', '')),
      };
    default:
      return {
        name,
        type: 'STRING',
        element: { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
        valueOf: (text) => text,
      };
  }
}
