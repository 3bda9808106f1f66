import { jobs } from '../../../jobs/index.ts';
import { type Diagnosis, diagnose } from '../../app/doctor/index.ts';
import { counted } from '../../base/counts.ts';
import { schedulesOf } from '../../queue/schedules.ts';
import type { Command, Context, Report } from '../command.ts';
import { findingLines } from '../ui/findings.ts';

export const command: Command = {
  define(commander, run) {
    commander.action(() => run(runDoctor));
  },
};

async function runDoctor(context: Context): Promise<Report> {
  const config = context.config();
  const schedules = schedulesOf(jobs, config.schedules, config.scheduleTimeZone);
  const findings = await diagnose(config, schedules, () => new Date());
  const count = (level: string) => findings.filter((finding) => finding.level === level).length;
  const [faults, warnings] = [count('fault'), count('warning')];
  const sums = `${counted(faults, 'fault')}, ${counted(warnings, 'warning')}.`;
  const end = faults + warnings === 0 ? 'All is well.' : `${sums}${faults > 0 ? ' Correct the faults first.' : ''}`;
  const text = [...drawAreas(findings), end].join('\n\n');
  return { text, json: { healthy: faults === 0, faults, warnings, findings }, incomplete: faults > 0 };
}

const drawAreas = (findings: Diagnosis) =>
  [...Map.groupBy(findings, ({ area }) => area)].map(([area, found]) => [area, ...findingLines(found)].join('\n'));
