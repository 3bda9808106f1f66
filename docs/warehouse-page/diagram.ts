import type { Link, Relation } from './catalog.ts';

/** A mermaid ER diagram of what is linked, with the columns that link it. */
export function diagram(links: readonly Link[]): string {
  const ends = { '0..1': 'o|', '0..n': 'o{' };
  const lines = links.map(
    ({ from, to, by, many }) => `  ${bare(from)} |o--${ends[many]} ${bare(to)} : "${by.join(', ')}"`,
  );
  return ['```mermaid', 'erDiagram', ...lines, '```'].join('\n');
}

export const nameOf = ({ schema, name }: Relation) => `${schema}.${name}`;

const bare = (name: string) => name.split('.').at(-1);
