import type { Result } from './run.ts';
import type { Outcome } from './statement.ts';

export type Counts = Record<Outcome['kind'], number>;

export function countsOf(results: readonly Result[]): Counts {
  const counts: Counts = { holds: 0, differs: 0, 'cannot tell': 0 };
  for (const { outcome } of results) counts[outcome.kind] += 1;
  return counts;
}

/** Lines for one statement, under its section's name where that is another than before. */
export function linesOf(result: Result, before: Result | undefined): string[] {
  const { chapter, section, says, outcome } = result;
  const isNew = before?.chapter !== chapter || before.section !== section;
  return [
    ...(isNew ? ['', `${chapter}: ${section}`] : []),
    `  ${outcome.kind.padEnd(11)}  ${says}`,
    ...detailOf(outcome),
  ];
}

function detailOf(outcome: Outcome): string[] {
  const indent = ' '.repeat(15);
  switch (outcome.kind) {
    case 'holds':
      return [];
    case 'differs':
      return [`${indent}found ${outcome.found}, expected ${outcome.expected}`];
    case 'cannot tell':
      return [`${indent}${outcome.reason}`];
  }
}

/** What differs once more, so that nobody has to look for it among hundreds, and the counts. */
export function summaryOf(results: readonly Result[]): string {
  const counts = countsOf(results);
  const differing = results.filter(({ outcome }) => outcome.kind === 'differs');
  const lines = differing.map(({ chapter, section, says }) => `  ${chapter}: ${section}: ${says}`);
  return [
    ...(lines.length > 0 ? ['What differs:', ...lines, ''] : []),
    `${counts.holds} hold, ${counts.differs} differ, ${counts['cannot tell']} cannot be told`,
  ].join('\n');
}

/** The document of `--json`. */
export function documentOf(run: {
  url: string;
  prefix: string;
  results: readonly Result[];
  left: readonly string[];
}): string {
  const { url, prefix, results, left } = run;
  const statements = results.map(({ outcome, ...statement }) => {
    const { kind, ...detail } = outcome;
    return { ...statement, outcome: kind, ...detail };
  });
  return JSON.stringify({ url, prefix, counts: countsOf(results), statements, left }, undefined, 2);
}
