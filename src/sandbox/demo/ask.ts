import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../../base/package-path.ts';

export type Answer = { question: string; sql: string; columns: string[]; rows: string[][] };

const questions = ['reviews_by_month', 'score_by_product', 'what_is_missing'] as const;

/** What an analyst would ask the warehouse, each with the SQL that answers it. */
export async function askWarehouse(url: string): Promise<Answer[]> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => String } });
  await client.connect();
  try {
    const answers: Answer[] = [];
    for (const name of questions) {
      const sql = (await readFile(packagePath('sql', 'demo', `${name}.sql`), 'utf8')).trim();
      const { fields, rows } = await client.query<(string | null)[]>({ text: sql, rowMode: 'array' });
      answers.push({
        question: name.replaceAll('_', ' '),
        sql,
        columns: fields.map((field) => field.name),
        rows: rows.map((row) => row.map((cell) => cell ?? '')),
      });
    }
    return answers;
  } finally {
    await client.end();
  }
}
