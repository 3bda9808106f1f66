/** Kinds of databases by their lexical rules. `mysql`: also MariaDB. */
export type SqlDialect = 'postgres' | 'mysql';

type SqlPart = { kind: 'code' | 'quoted' | 'comment'; text: string };

/** Comments, and quoted texts and names. An unclosed one goes on to the end. */
const notCode: Readonly<Record<SqlDialect, RegExp>> = {
  postgres:
    /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<![\w$])[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(?<![\w$])\$(?<tag>(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?(?:\$\k<tag>\$|$)/g,
  mysql:
    /(?<comment>--(?=\s|$)[^\n]*|#[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)/g,
};

/** Cuts a query into code, quoted texts and names, and comments. */
function partsOf(sql: string, dialect: SqlDialect): SqlPart[] {
  const parts: SqlPart[] = [];
  let from = 0;
  for (const { 0: text, index, groups } of sql.matchAll(notCode[dialect])) {
    if (index > from) parts.push({ kind: 'code', text: sql.slice(from, index) });
    parts.push({ kind: groups?.comment === undefined ? 'quoted' : 'comment', text });
    from = index + text.length;
  }
  if (from < sql.length) parts.push({ kind: 'code', text: sql.slice(from) });
  return parts;
}

/**
 * The text of a query with each `:since` replaced outside texts, quoted names and comments. A cast such as `x::since`
 * is no parameter.
 */
export const withSince = (sql: string, since: string, dialect: SqlDialect): string =>
  partsOf(sql, dialect)
    .map(({ kind, text }) => (kind === 'code' ? text.replaceAll(/(?<![:\w$]):since(?![\w$])/g, () => since) : text))
    .join('');

/** Names that are also SQL words. A table of this name must be quoted, and the bare word is no table. */
const wordsOfSql = new Set(['order', 'user', 'group']);

/**
 * The query with renamed tables. A name counts as a whole word outside texts and comments, quoted or not.
 *
 * @param renames new names by the names in the query.
 * @param schema if given, written before each table.
 */
export function renameTables(
  sql: string,
  tables: { names: Iterable<string>; renames: ReadonlyMap<string, string>; schema: string | undefined },
  dialect: SqlDialect,
): string {
  const names = new Set(tables.names);
  const quote = dialect === 'mysql' ? '`' : '"';
  const inSchema = tables.schema === undefined ? '' : `${quotedName(tables.schema, quote)}.`;
  const renamed = (name: string) => tables.renames.get(name) ?? name;
  return partsOf(sql, dialect)
    .map(({ kind, text }) => {
      if (kind === 'comment') return text;
      if (kind === 'code')
        return text.replaceAll(/(?<![\w$.])[A-Za-z_][\w$]*/g, (word) =>
          names.has(word) && !wordsOfSql.has(word) ? inSchema + quotedName(renamed(word), quote) : word,
        );
      const name = text.slice(1, -1);
      return text[0] === quote && names.has(name)
        ? `${inSchema}${quote}${renamed(name).replaceAll(quote, quote + quote)}${quote}`
        : text;
    })
    .join('');
}

/** The names that a query has as whole words outside texts and comments, quoted or not. */
export function namesIn(sql: string, names: readonly string[], dialect: SqlDialect): string[] {
  const words = new Set<string>();
  for (const { kind, text } of partsOf(sql, dialect)) {
    if (kind === 'quoted') words.add(text.slice(1, -1));
    if (kind === 'code') for (const [word] of text.matchAll(/[\w$\u0080-\uffff]+/g)) words.add(word);
  }
  return names.filter((name) => words.has(name));
}

/** A name in quotes, unless it needs none. */
const quotedName = (name: string, quote: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
