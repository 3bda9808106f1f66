import { jobs } from '../../jobs/index.ts';
import { type Diagnosis, diagnose } from '../doctor/index.ts';
import { schedulesOf } from '../queue/schedules.ts';
import type { Command } from './command.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'check every connection, credential, time zone and shop query, and say what to mend; changes nothing',
  define(commander, run) {
    commander.option('--json', 'report as JSON').action(() =>
      run(async (context) => {
        const config = context.config();
        const schedules = schedulesOf(jobs, config.schedules, config.scheduleTimeZone);
        const findings = await diagnose(config, schedules, () => new Date());
        const faults = count(findings, 'fault');
        const json = { healthy: faults === 0, faults, warnings: count(findings, 'warning'), findings };
        return { text: draw(findings), json, incomplete: faults > 0 };
      }),
    );
  },
};

const count = (findings: Diagnosis, verdict: string) =>
  findings.filter((finding) => finding.verdict === verdict).length;

const marks = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const;

function draw(findings: Diagnosis): string {
  const areas = [...Map.groupBy(findings, ({ area }) => area)].map(([area, found]) => {
    const lines = found.map(({ verdict, what, mend }) => {
      const told = what.replaceAll('\n', '\n           ');
      return `  ${marks[verdict]}  ${told}${mend ? `\n           → ${mend}` : ''}`;
    });
    return [area, ...lines].join('\n');
  });
  return [...areas, summary(count(findings, 'fault'), count(findings, 'warning'))].join('\n\n');
}

function summary(faults: number, warnings: number): string {
  const named = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;
  if (faults === 0 && warnings === 0) return 'All is well.';
  return `${named(faults, 'fault')}, ${named(warnings, 'warning')}.${faults > 0 ? ' Mend the faults first.' : ''}`;
}
