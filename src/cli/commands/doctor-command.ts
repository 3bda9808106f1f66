import { jobs } from '../../../jobs/index.ts';
import { readShopConfig } from '../../app/config.ts';
import { type Diagnosis, diagnose, diagnoseShop } from '../../app/doctor/index.ts';
import { counted } from '../../base/counts.ts';
import { UsageError } from '../../base/errors.ts';
import { schedulesOf } from '../../queue/schedules.ts';
import type { Context, Define, Report } from '../command.ts';
import { findingLines } from '../ui/table.ts';

export const define: Define = (commander, run) => {
  commander.action(() => run(runDoctor));
};

async function runDoctor(context: Context): Promise<Report> {
  const config = unlessWrong(context.config);
  const isWrongUsage = config instanceof UsageError;
  const findings = await (isWrongUsage ? diagnoseAlone(context, config) : diagnose(config, schedulesOf(jobs, config)));
  const count = (level: string) => findings.filter((finding) => finding.level === level).length;
  const faults = count('fault');
  const warnings = count('warning');
  const sums = `${counted(faults, 'fault')}, ${counted(warnings, 'warning')}.`;
  const end = faults + warnings === 0 ? 'All is well.' : `${sums}${faults > 0 ? ' Correct the faults first.' : ''}`;
  const text = [...drawAreas(findings), end].join('\n\n');
  return { text, json: { healthy: faults === 0, faults, warnings, findings }, incomplete: faults > 0, isWrongUsage };
}

/** Checks a shop's queries before there is a warehouse. @throws `wrong` if the shop's variables are wrong, too. */
function diagnoseAlone({ environment }: Context, wrong: UsageError): Promise<Diagnosis> {
  const shop = unlessWrong(() => readShopConfig(environment));
  if (shop instanceof UsageError) throw wrong;
  return diagnoseShop(shop, wrong);
}

function unlessWrong<T>(read: () => T): T | UsageError {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
}

const drawAreas = (findings: Diagnosis) =>
  [...Map.groupBy(findings, ({ area }) => area)].map(([area, found]) => [area, ...findingLines(found)].join('\n'));
