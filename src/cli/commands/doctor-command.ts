import { jobs } from '../../../jobs/index.ts';
import { readShopConfig } from '../../app/config.ts';
import { type CheckedFixture, checkFixtures, fixtureFile } from '../../app/doctor/check-fixtures.ts';
import { type Diagnosis, diagnose } from '../../app/doctor/index.ts';
import { counted } from '../../app/status-view.ts';
import { UsageError } from '../../base/errors.ts';
import { schedulesOf } from '../../queue/schedules.ts';
import type { Command, Context, Report } from '../command.ts';
import { findingLines } from '../ui/findings.ts';

export const command: Command = {
  define(commander, run) {
    commander
      .option(
        '--fixtures <folder>',
        'only run the shop queries over the rows of a folder, and compare what they make (shops on Postgres)',
      )
      .option('--accept', 'with --fixtures: write what the queries make as what is expected')
      .action(({ fixtures, accept = false }: { fixtures?: string; accept?: boolean }) =>
        run(async (context) => {
          if (fixtures !== undefined) return await runFixtures(context, fixtures, accept);
          if (accept) throw new UsageError('--accept is for --fixtures only');
          return await runDoctor(context);
        }),
      );
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

async function runFixtures({ environment }: Context, folder: string, isAccepted: boolean): Promise<Report> {
  const orders = await checkFixtures(readShopConfig(environment), folder, isAccepted);
  const failing = orders.filter((order) => order.differences.length > 0).length;
  const healthy = failing === 0 && orders.length > 0;
  const end =
    failing === 0 ? 'All orders are as expected.' : `${failing} of ${orders.length} orders are not as expected.`;
  const none = 'The queries show no order: the rows of DIR/tables make none.';
  const text = orders.length === 0 ? none : ['fixtures', ...orders.map(drawFixture), '', end].join('\n');
  return { text, json: { healthy, orders }, incomplete: !healthy };
}

function drawFixture({ code, expected, made, differences }: CheckedFixture): string {
  if (differences.length === 0) return `  ok       order ${code}`;
  const file = `\n           expected/${fixtureFile(code)} would be:\n${JSON.stringify(made, null, 2)}`;
  return `  FAULT    order ${code}\n           ${differences.join('\n           ')}${expected === undefined ? file : ''}`;
}
