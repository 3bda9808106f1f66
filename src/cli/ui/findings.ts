import type { Finding } from '../../app/doctor/finding.ts';

const marks = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const;

/** What the doctor found, one block of lines a finding. */
export function findingLines(findings: readonly Finding[]): string[] {
  return findings.map(({ level, what, hint }) => {
    const text = what.replaceAll('\n', '\n           ');
    return `  ${marks[level]}  ${text}${hint ? `\n           → ${hint}` : ''}`;
  });
}
