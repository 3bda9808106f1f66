import { escapeRegExp } from '../base/escape-reg-exp.ts';

/** Tables with fewer rows cost less than looking into an index would save. */
export const largeFromRows = 20_000;

/** The columns of a table that conditions of a plan compare, quoted as there. @param alias of the table. */
export function comparedColumns(conditions: readonly string[], alias: string): string[] {
  const plain = conditions
    .join(' ')
    .replaceAll('`', '')
    .replaceAll(/'(?:[^'\\]|''|\\.)*'/g, "''")
    // No index is made for these: review-sync adds them to every walk.
    .replaceAll(/coalesce\(b?trim\([^<]*<>|locate\([^=]*= 0|[\w."]+ is not null/gi, '');
  const column = new RegExp(`(?<![\\w."$])"?${escapeRegExp(alias)}"?\\.("(?:[^"]|"")+"|[\\w$]+)`, 'g');
  return [...new Set([...plain.matchAll(column)].map((match) => match[1] ?? ''))];
}

/** @param index the statement that makes an index on a column. */
export function remedyOf([column]: readonly string[], index: (column: string) => string): string {
  const asItIs = 'without a function or a cast around it';
  if (column === undefined) return `compare a column of it that has an index, ${asItIs}`;
  return `${index(column)}; where there is that index, select and compare ${column} as it is, ${asItIs}`;
}
