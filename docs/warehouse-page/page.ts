import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { packagePath } from '../../src/base/package-path.ts';
import { type Relation, readSchema } from './catalog.ts';
import { diagram, nameOf } from './diagram.ts';
import { links } from './links.ts';
import { type Question, readQuestions } from './questions.ts';

const schemas = ['bi', 'warehouse', 'sync'] as const;

/**
 * docs/warehouse.md with what stands between its marks `<!-- name -->` and `<!-- /name -->` written anew: the diagram, the list
 * of questions, and the tables with the comments that they have in the warehouse at `url`. All other text stays.
 */
export async function warehousePage(url: string): Promise<string> {
  const page = await readFile(packagePath('docs', 'warehouse.md'), 'utf8');
  const relations = await relationsOf(url);
  const parts: [name: string, text: string][] = [
    ['diagram', diagram(links)],
    ['questions', (await readQuestions()).map(drawQuestion).join('\n')],
  ];
  const shown = new Set<string>();
  for (const schema of schemas) {
    const ours = relations.filter((relation) => relation.schema === schema);
    parts.push([schema, (schema === 'sync' ? drawState(ours, shown) : drawRelations(ours, shown)).join('\n\n')]);
  }
  return parts.reduce(replacePart, page);
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

/** The tables of `sync` that people may rely on, with the columns that they may rely on. */
const shownWith: Readonly<Record<string, readonly string[]>> = {
  export_windows: ['axis', 'start_at', 'end_at', 'pages', 'reviews', 'requests', 'started_at', 'finished_at'],
  dead_letters: [
    ...['id', 'kind', 'key', 'reason', 'payload', 'attempts'],
    ...['first_failed_at', 'last_failed_at', 'resolved_at'],
  ],
};
/** Of these it is the shop's key and the service's id. */
const shownKeys: Readonly<Record<string, readonly string[]>> = {
  order_links: ['order_code', 'order_id'],
  sub_order_links: ['order_code', 'line_code', 'sub_order_id'],
  product_links: ['product_code', 'product_id'],
  user_grade_links: ['user_grade_code', 'user_grade_id'],
  category_links: ['category_code', 'category_id'],
};

/** Their columns are those of the lists in docs/interface.md. */
const namedOnly = new Set(['review_images', 'review_options']);

/**
 * Each relation with a heading and its columns. A column that means the same in an earlier relation is only named. The types
 * of the columns of `bi` are in examples/dbt.
 */
function drawRelations(relations: readonly Relation[], shown: Set<string>): string[] {
  return relations.map((relation) => {
    const lines: string[] = [];
    const known: string[] = [];
    for (const { name, type, comment } of relation.columns) {
      const meaning = `${name}: ${comment}`;
      if (shown.has(meaning) || namedOnly.has(relation.name)) known.push(`\`${name}\``);
      else lines.push(`- \`${name}\`${relation.schema === 'bi' ? '' : ` ${type}`}: ${comment ?? ''}`);
      shown.add(meaning);
    }
    const label = namedOnly.has(relation.name) ? 'Columns' : 'As above';
    if (known.length > 0) lines.push(`- ${label}: ${known.join(', ')}.`);
    return [`### \`${nameOf(relation)}\``, relation.comment ?? '', lines.join('\n')].join('\n\n');
  });
}

/** What the views of `bi` are answered from. */
const countsOfBi = /^touches$|_counts$/;

function drawState(relations: readonly Relation[], shown: Set<string>): string[] {
  const relied = relations.flatMap((relation) => {
    const columns = relation.columns.filter(({ name }) => shownWith[relation.name]?.includes(name));
    return columns.length > 0 ? { ...relation, columns } : [];
  });
  const linked = relations.flatMap(({ name, comment }) => {
    const columns = shownKeys[name]?.map((column) => `\`${column}\``).join(', ');
    return columns ? `- \`${name}\` (${columns}): ${comment}` : [];
  });
  const rest = relations.filter(({ name }) => !(name in shownWith) && !(name in shownKeys));
  const others = rest.filter(({ name }) => !countsOfBi.test(name));
  const counts = rest.filter(({ name }) => countsOfBi.test(name)).map(({ name }) => `\`${name}\``);
  return [
    ...drawRelations(relied, shown),
    '### Links\n\nYou may rely on these columns too:',
    linked.join('\n'),
    '### Other tables and views\n\nThese may change with any version. `\\d+` in psql says more of them.',
    others.map(({ name, comment }) => `- \`${name}\`: ${firstClause(comment ?? '')}.`).join('\n'),
    `The counts behind \`bi\` and their log: ${counts.join(', ')}.`,
  ];
}

const drawQuestion = ({ file, question }: Question) => `- [${/^[^?]*\?/.exec(question)?.[0]}](questions/${file})`;

/** Up to the first full stop, colon or semicolon. */
const firstClause = (text: string) => text.split(/[.:;]( |$)/)[0] ?? text;

function replacePart(page: string, [name, text]: [name: string, text: string]): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(open), page.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`docs/warehouse.md has no marks ${open} … ${close}`);
  return `${page.slice(0, from + open.length)}\n${text}\n${page.slice(to)}`;
}
