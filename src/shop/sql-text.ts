import { escapeRegExp } from '../base/escape-reg-exp.ts';

/** The lexical rules in which databases differ. */
export type SqlDialect = 'postgres' | 'mysql';

type SqlPart = { kind: 'code' | 'quoted' | 'comment'; text: string };

/**
 * The text of a query with each named parameter replaced, wherever it stands outside of texts, quoted names and
 * comments. A cast such as `x::since` is no parameter.
 *
 * @param name without its colon.
 * @returns the text, and how often the parameter is in it.
 */
export function replaceParameter(
  sql: string,
  name: string,
  replacement: string,
  dialect: SqlDialect,
): { text: string; count: number } {
  let count = 0;
  const parameter = new RegExp(`(?<![:\\w$]):${name}(?![\\w$])`, 'g');
  const text = partsOf(sql, dialect).map((part) => {
    if (part.kind !== 'code') return part.text;
    return part.text.replace(parameter, () => {
      count += 1;
      return replacement;
    });
  });
  return { text: text.join(''), count };
}

/** The query without comments and with single spaces: two files with the same result mean the same. */
export function meaningOf(sql: string, dialect: SqlDialect): string {
  let meaning = '';
  let code = '';
  const close = () => {
    meaning += code.replace(/\s+/g, ' ');
    code = '';
  };
  for (const { kind, text } of partsOf(sql, dialect)) {
    if (kind !== 'quoted') code += kind === 'comment' ? ' ' : text;
    else {
      close();
      meaning += text;
    }
  }
  close();
  return meaning.trim();
}

/** Cuts a query into code, quoted texts and names, and comments. Whatever is not closed goes on to the end. */
function partsOf(sql: string, dialect: SqlDialect): SqlPart[] {
  const parts: SqlPart[] = [];
  let from = 0;
  for (let at = 0; at < sql.length; ) {
    const special = specialAt(sql, at, dialect);
    if (special === undefined) {
      at += 1;
      continue;
    }
    if (at > from) parts.push({ kind: 'code', text: sql.slice(from, at) });
    parts.push({ kind: special.kind, text: sql.slice(at, special.end) });
    at = special.end;
    from = at;
  }
  if (from < sql.length) parts.push({ kind: 'code', text: sql.slice(from) });
  return parts;
}

function specialAt(
  sql: string,
  at: number,
  dialect: SqlDialect,
): { kind: 'quoted' | 'comment'; end: number } | undefined {
  const isMysql = dialect === 'mysql';
  const two = sql.slice(at, at + 2);
  const character = sql[at] ?? '';
  if (two === '--' && (!isMysql || /^--(\s|$)/.test(sql.slice(at, at + 3))))
    return { kind: 'comment', end: endOfLine(sql, at) };
  if (character === '#' && isMysql) return { kind: 'comment', end: endOfLine(sql, at) };
  if (two === '/*') return { kind: 'comment', end: endOfComment(sql, at, !isMysql) };
  if (character === "'") {
    const hasBackslashes = isMysql || isEscapeText(sql, at);
    return { kind: 'quoted', end: endOfQuoted(sql, at, hasBackslashes) };
  }
  if (character === '"') return { kind: 'quoted', end: endOfQuoted(sql, at, isMysql) };
  if (character === '`' && isMysql) return { kind: 'quoted', end: endOfQuoted(sql, at, false) };
  if (character === '$' && !isMysql) {
    const end = endOfDollarQuoted(sql, at);
    return end === undefined ? undefined : { kind: 'quoted', end };
  }
  return undefined;
}

/** Postgres: `e'…'` knows backslashes, a plain text does not. */
const isEscapeText = (sql: string, at: number) => /(?:^|[^\w$])[eE]$/.test(sql.slice(Math.max(0, at - 2), at));

function endOfLine(sql: string, at: number): number {
  const end = sql.indexOf('\n', at);
  return end < 0 ? sql.length : end;
}

/** Postgres nests comments. */
function endOfComment(sql: string, at: number, nests: boolean): number {
  let depth = 1;
  let place = at + 2;
  while (place < sql.length && depth > 0) {
    const two = sql.slice(place, place + 2);
    if (two === '*/') depth -= 1;
    if (two === '/*' && nests) depth += 1;
    place += two === '*/' || (two === '/*' && nests) ? 2 : 1;
  }
  return place;
}

function endOfQuoted(sql: string, at: number, hasBackslashes: boolean): number {
  const quote = sql[at];
  let place = at + 1;
  while (place < sql.length) {
    if (hasBackslashes && sql[place] === '\\') place += 2;
    else if (sql[place] !== quote) place += 1;
    else if (sql[place + 1] === quote) place += 2;
    else return place + 1;
  }
  return sql.length;
}

function endOfDollarQuoted(sql: string, at: number): number | undefined {
  if (/[\w$]/.test(sql[at - 1] ?? '')) return undefined;
  const tag = /^\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/.exec(sql.slice(at, at + 80))?.[0];
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, at + tag.length);
  return end < 0 ? sql.length : end + tag.length;
}

/**
 * The query with `schema.table` written as `table`, wherever it stands outside of texts and comments, quoted or not.
 * Names without quotes are compared without case.
 */
export function withoutSchema(sql: string, schema: string, table: string, dialect: SqlDialect): string {
  // Texts and comments become blanks of the same length, so that places in both are the same.
  const visible = partsOf(sql, dialect)
    .map(({ kind, text }) => (kind === 'code' || /^["`]/.test(text) ? text : ' '.repeat(text.length)))
    .join('');
  const named = (name: string) => {
    const escaped = escapeRegExp(name);
    return `(?:"${escaped}"|${name === name.toLowerCase() ? `(?:${caseless(escaped)})(?![\\w$])` : '(?!)'})`;
  };
  const qualified = new RegExp(`(?<![\\w$"\`.])${named(schema)}\\s*\\.\\s*(?=${named(table)})`, 'g');
  let result = '';
  let from = 0;
  for (const match of visible.matchAll(qualified)) {
    result += sql.slice(from, match.index);
    from = match.index + match[0].length;
  }
  return result + sql.slice(from);
}

/** Names that are words of SQL too: a table of this name is written in quotes, and the bare word is no table. */
const wordsOfSql = new Set(['order', 'user', 'group']);

/**
 * The query with other names of tables, wherever they stand as whole words outside of texts and comments, quoted or
 * not.
 *
 * @param renames new names by the names in the query.
 * @param schema written before each of the tables, where given.
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
      return text[0] === quote && names.has(name) ? `${inSchema}${quote}${renamed(name)}${quote}` : text;
    })
    .join('');
}

/** A name in quotes, unless it needs none. */
const quotedName = (name: string, quote: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `${quote}${name}${quote}`;

const caseless = (text: string) => text.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
