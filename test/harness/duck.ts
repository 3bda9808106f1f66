import { DuckDBInstance } from '@duckdb/node-api';

export type Duck = AsyncDisposable & {
  /** The rows, each value as JSON: numbers beyond a double and dates are texts. */
  rows(text: string): Promise<unknown[][]>;
};

/** A DuckDB in memory, which shares no code with the writer of the files. It may fetch no extension. */
export async function openDuck(): Promise<Duck> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  await connection.run(`set TimeZone = 'UTC'`);
  return {
    rows: async (text) => (await connection.runAndReadAll(text)).getRowsJson(),
    async [Symbol.asyncDispose]() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
