import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse';
import { UsageError } from '../../src/base/errors.ts';
import type { Field, OlistFile } from './files.ts';

/** A row as the table wants it: numbers stay text, so that Postgres and not a float reads them. */
export type OlistRow = Record<string, string | null>;

const rowsAtOnce = 5000;

/**
 * Reads one file of the data set in batches, in whichever edition it is.
 *
 * @throws UsageError that names file, line and column where something is not as expected.
 */
export async function* readOlistFile(folder: string, source: OlistFile): AsyncGenerator<OlistRow[]> {
  const input = createReadStream(join(folder, source.file));
  const parser = parse({ bom: true, info: true, columns: (header: string[]) => columnsOf(source, header) });
  // A file that cannot be opened must end the loop below, not the process.
  input.on('error', (cause) => parser.destroy(cause));
  let batch: OlistRow[] = [];
  try {
    for await (const { record, info } of input.pipe(parser)) {
      batch.push(rowOf(source, record, info.lines));
      if (batch.length < rowsAtOnce) continue;
      yield batch;
      batch = [];
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`${source.file} cannot be read as a file of the Olist data set.`, {
      cause,
      hint: 'examples/olist/README.md tells where the data set is found.',
    });
  } finally {
    input.destroy();
  }
  if (batch.length > 0) yield batch;
}

function columnsOf(source: OlistFile, header: readonly string[]): string[] {
  const columns = header.map((name) => {
    const plain = name.trim().toLowerCase();
    return source.alsoCalled?.[plain] ?? plain;
  });
  const missing = Object.keys(source.required).filter((name) => !columns.includes(name));
  if (missing.length > 0) {
    throw new UsageError(`${source.file} lacks ${missing.join(', ')}; it has ${columns.join(', ')}.`);
  }
  return columns;
}

function rowOf(source: OlistFile, record: Record<string, string>, line: number): OlistRow {
  const row: OlistRow = {};
  for (const [column, field] of Object.entries({ ...source.required, ...source.optional })) {
    const text = record[column]?.trim() ?? '';
    const value = text === '' ? null : fieldValue(field, text);
    if (value === undefined || (value === null && column in source.required)) {
      throw new UsageError(`${source.file}, line ${line}: ${column} is "${text}", expected ${expected[field]}.`);
    }
    row[column] = value;
  }
  return row;
}

const expected: Record<Field, string> = {
  text: 'a text',
  number: 'a number',
  time: 'a time as 2017-10-02 10:56:33 or 10/2/2017 10:56',
};

/** Undefined where the text is no such thing. */
function fieldValue(field: Field, text: string): string | undefined {
  if (field === 'text') return text;
  if (field === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? text : undefined;
  return timeOf(text);
}

/** The full data set has 2017-10-02 10:56:33; what went through a spreadsheet has 10/2/2017 10:56, month first. */
function timeOf(text: string): string | undefined {
  if (/^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$/.test(text)) return text;
  const [, month, dayOfMonth, year, time] = /^(\d\d?)\/(\d\d?)\/(\d{4})(?: (\d\d?:\d\d(?::\d\d)?))?$/.exec(text) ?? [];
  if (!month || !dayOfMonth || !year) return undefined;
  return `${year}-${month.padStart(2, '0')}-${dayOfMonth.padStart(2, '0')} ${(time ?? '0:00').padStart(5, '0')}`;
}
