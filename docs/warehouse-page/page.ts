import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../../src/base/package-path.ts';
import { foreignKeys, type Relation, readSchema, schemaComment } from './catalog.ts';
import { diagram, nameOf } from './diagram.ts';
import { links } from './links.ts';
import { type Answer, ask, readQuestions } from './questions.ts';

const schemas = ['bi', 'warehouse', 'sync'] as const;

/** docs/warehouse.md, made of the comments in the warehouse at `url` and its answers to docs/questions. */
export async function warehousePage(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => String } });
  await client.connect();
  try {
    const relations = await relationsOf(url);
    const intro = await readFile(packagePath('docs', 'warehouse-page', 'intro.md'), 'utf8');
    const parts = [intro.trim(), '## How it hangs together'];
    for (const [title, among] of diagrams) {
      const inside = [...(await foreignKeys(client)), ...links].filter(({ from, to }) =>
        [from, to].every((name) => among.includes(name.split('.')[0] ?? '')),
      );
      parts.push(title, diagram(relations, inside));
    }
    parts.push('## Ten questions', questionsIntro);
    for (const { file, question, sql } of await readQuestions()) {
      const answer = drawAnswer(await ask(client, sql));
      parts.push(`### ${question}`, `\`\`\`sql\n-- docs/questions/${file}\n${sql}\n\`\`\``, answer);
    }
    parts.push((await readFile(packagePath('docs', 'warehouse-page', 'lake.md'), 'utf8')).trim());
    for (const schema of schemas) {
      const ours = relations.filter((relation) => relation.schema === schema);
      const shown = ours.filter(({ name }) => schema !== 'sync' || reliedOn.has(name));
      parts.push(`## Schema \`${schema}\``, await schemaComment(client, schema), ...shown.map(drawRelation));
      const others = ours.filter((relation) => !shown.includes(relation));
      if (others.length > 0) parts.push(othersIntro, drawList(others));
    }
    return `${parts.join('\n\n')}\n`;
  } finally {
    await client.end();
  }
}

/** Every table and view of the three schemas. */
export async function relationsOf(url: string): Promise<Relation[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const all: Relation[] = [];
    for (const schema of schemas) all.push(...(await readSchema(client, schema)));
    return all;
  } finally {
    await client.end();
  }
}

const diagrams: readonly [title: string, among: readonly string[]][] = [
  ['The views for analysts, and the columns by which they join:', ['bi']],
  [
    'The tables beneath. Nothing here is a foreign key: reviews and orders come in any order, and neither waits for the other.',
    ['warehouse', 'sync'],
  ],
];

/** The tables of `sync` whose columns people may rely on. */
const reliedOn = new Set([
  'export_windows',
  'dead_letters',
  'order_links',
  'sub_order_links',
  'product_links',
  'user_grade_links',
  'category_links',
]);

const othersIntro = `The columns of these tables and views may change with any version. \`\\d+\` in psql shows what each means.`;

const questionsIntro = `Each is a file of \`docs/questions\`, run here with the rights of \`bi_reader\` on a sample shop (500 orders, 4,000 reviews,
up to 30 June 2026), synced by the program itself. The service's summaries of products there are a week older than the reviews.`;

function drawAnswer({ columns, rows }: Answer): string {
  return [columns, columns.map(() => '---'), ...rows].map(row).join('\n');
}

function drawRelation(relation: Relation): string {
  const columns = relation.columns.map(({ name, type, comment }) => row([`\`${name}\``, type, comment ?? '']));
  const head = `### \`${nameOf(relation)}\`\n\n${relation.kind === 'view' ? 'View. ' : ''}${relation.comment ?? ''}`;
  return `${head}\n\n${[row(['column', 'type', 'meaning']), row(['---', '---', '---']), ...columns].join('\n')}`;
}

function drawList(relations: readonly Relation[]): string {
  const lines = relations.map((relation) => row([`\`${nameOf(relation)}\``, relation.comment ?? '']));
  return [row(['table or view', 'holds']), row(['---', '---']), ...lines].join('\n');
}

const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
