import type { Finding } from '../../app/doctor/finding.ts';
import { formatCount } from '../../base/counts.ts';
import { oneLine } from '../../base/visible.ts';

/** Text in columns; columns of numbers are aligned to the right. */
export function table(head: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(oneLine));
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => width(row[column] ?? ''))));
  const isNumber = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^[-\d.,]*%?$/.test(row[column] ?? '')),
  );
  return all
    .map((row) =>
      row
        .map((cell, column) => {
          const padding = ' '.repeat((widths[column] ?? 0) - width(cell));
          return isNumber[column] ? padding + cell : cell + padding;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Width on a terminal: an ideograph or a Hangul syllable takes two columns. */
const width = (text: string) => [...text].reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/;

/** The first twenty lines, and the number of further lines: `--json` has all. @param all the number of all lines. */
export function firstLines(lines: readonly string[], all = lines.length): string {
  const shown = lines.slice(0, 20);
  return [...shown, ...(all > shown.length ? [`and ${formatCount(all - shown.length)} more`] : [])].join('\n');
}

/** Texts that are absent or empty are left out. */
export type Texts = readonly (string | undefined | false)[];

export const lines = (...texts: Texts): string => texts.filter(Boolean).join('\n');

/** Texts with an empty line between. */
export const blocks = (...texts: Texts): string => texts.filter(Boolean).join('\n\n');

export const bulleted = (title: string, items: readonly string[]): string =>
  items.length === 0 ? '' : lines(`${title}:`, ...items.map((item) => `- ${item}`));

const marks = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const;

/** The doctor's findings, one block of lines for each. */
export function findingLines(findings: readonly Finding[]): string[] {
  return findings.map(({ level, what, hint }) => {
    const text = what.replaceAll('\n', '\n           ');
    return `  ${marks[level]}  ${text}${hint ? `\n           → ${hint}` : ''}`;
  });
}
