import { jobs } from '../../../jobs/index.ts';
import { type Diagnosis, diagnose } from '../../app/doctor/index.ts';
import { UsageError } from '../../base/errors.ts';
import { schedulesOf } from '../../queue/schedules.ts';
import type { Command } from '../command.ts';
import { findingLines } from '../ui/findings.ts';
import { checkFixtureFolder } from './check-fixture-folder.ts';

export const doctorCommand: Command = {
  define(commander, run) {
    commander
      .option(
        '--fixtures <folder>',
        'only run the shop queries over the rows of a folder, and compare what they make (shops on Postgres)',
      )
      .option('--accept', 'with --fixtures: write what the queries make as what is expected')
      .action(({ fixtures, accept = false }: { fixtures?: string; accept?: boolean }) =>
        run(async (context) => {
          if (fixtures !== undefined) return await checkFixtureFolder(context, fixtures, accept);
          if (accept) throw new UsageError('--accept is for --fixtures only');
          const config = context.config();
          const schedules = schedulesOf(jobs, config.schedules, config.scheduleTimeZone);
          const findings = await diagnose(config, schedules, () => new Date());
          const faults = countLevel(findings, 'fault');
          const json = { healthy: faults === 0, faults, warnings: countLevel(findings, 'warning'), findings };
          return { text: draw(findings), json, incomplete: faults > 0 };
        }),
      );
  },
};

const countLevel = (findings: Diagnosis, level: string) => findings.filter((finding) => finding.level === level).length;

function draw(findings: Diagnosis): string {
  const areas = [...Map.groupBy(findings, ({ area }) => area)].map(([area, found]) =>
    [area, ...findingLines(found)].join('\n'),
  );
  return [...areas, summary(countLevel(findings, 'fault'), countLevel(findings, 'warning'))].join('\n\n');
}

function summary(faults: number, warnings: number): string {
  const named = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;
  if (faults === 0 && warnings === 0) return 'All is well.';
  return `${named(faults, 'fault')}, ${named(warnings, 'warning')}.${faults > 0 ? ' Correct the faults first.' : ''}`;
}
