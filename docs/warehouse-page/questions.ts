import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { packagePath } from '../../src/base/package-path.ts';

/** One file of docs/questions: its first comment is the question, the rest the SQL that answers it. */
export type Question = { file: string; question: string; sql: string };
export type Answer = { columns: string[]; rows: string[][] };

export async function readQuestions(): Promise<Question[]> {
  const folder = packagePath('docs', 'questions');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => {
      const lines = (await readFile(`${folder}/${file}`, 'utf8')).trim().split('\n');
      const at = lines.findIndex((line) => !line.startsWith('-- '));
      const question = lines.slice(0, at).map((line) => line.slice(3));
      return { file, question: question.join(' '), sql: lines.slice(at).join('\n') };
    }),
  );
}

/** As an analyst gets it: with the rights of bi_reader, every value as the database's text. */
export async function ask(client: pg.Client, sql: string): Promise<Answer> {
  await client.query('begin read only');
  try {
    await client.query(`set local role bi_reader; set local time zone 'Asia/Seoul'`);
    const { fields, rows } = await client.query<(string | null)[]>({ text: sql, rowMode: 'array' });
    return { columns: fields.map((field) => field.name), rows: rows.map((row) => row.map((cell) => cell ?? '')) };
  } finally {
    await client.query('rollback');
  }
}
