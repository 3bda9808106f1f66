import type { Link, Relation } from './catalog.ts';

/** A mermaid ER diagram of the relations that are linked, with the columns that link them. */
export function diagram(relations: readonly Relation[], links: readonly Link[]): string {
  const used = new Set(links.flatMap(({ from, to }) => [from, to]));
  const entities = relations
    .filter((relation) => used.has(nameOf(relation)))
    .map((relation) => entity(relation, links));
  const ends = { '0..1': 'o|', '0..n': 'o{' };
  const lines = links.map(
    ({ from, to, by, many }) => `  ${idOf(from)} |o--${ends[many]} ${idOf(to)} : "${by.join(', ')}"`,
  );
  return ['```mermaid', 'erDiagram', ...entities, ...lines, '```'].join('\n');
}

export const nameOf = ({ schema, name }: Relation) => `${schema}.${name}`;

/** The columns of both ends: `id = review_id` is id there and review_id here. */
export function columnsOf({ by }: Link): { from: string[]; to: string[] } {
  const pairs = by.map((pair) => pair.split(' = '));
  return { from: pairs.map(([theirs = '']) => theirs), to: pairs.map((pair) => pair.at(-1) ?? '') };
}

function entity(relation: Relation, links: readonly Link[]): string {
  const name = nameOf(relation);
  const linking = links.flatMap((link) => {
    const { from, to } = columnsOf(link);
    return [...(link.from === name ? from : []), ...(link.to === name ? to : [])];
  });
  const columns = relation.columns
    .filter((column) => column.isKey || linking.includes(column.name))
    .map(({ name: column, type, isKey }) => `    ${type.replaceAll(' ', '_')} ${column}${isKey ? ' PK' : ''}`);
  return [`  ${idOf(name)}["${name}"] {`, ...columns, '  }'].join('\n');
}

const idOf = (name: string) => name.replace('.', '_');
