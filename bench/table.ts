import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Prints a table and puts it between the marks `<!-- name -->` and `<!-- /name -->` of docs/benchmark-tables.md.
 *
 * @param name undefined: the table is only printed.
 */
export async function writeTable(
  name: string | undefined,
  command: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
  process.stdout.write(`${table}\n`);
  if (name === undefined) return;
  const file = join(import.meta.dirname, '..', 'docs', 'benchmark-tables.md');
  const text = await readFile(file, 'utf8');
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [text.indexOf(open), text.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`docs/benchmark-tables.md has no marks ${open} … ${close}`);
  const measured = `\nRegenerate with \`${command}\`.\n\n${table}\n`;
  await writeFile(file, text.slice(0, from + open.length) + measured + text.slice(to));
}
