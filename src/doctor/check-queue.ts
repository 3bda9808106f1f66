import { type Finding, fault, ok, warning } from '../finding.ts';
import { readQueueFacts } from '../queue/checkup.ts';
import type { Queues } from '../queue/index.ts';
import { type PlannedRun, plannedRuns, type Schedule } from '../queue/schedules.ts';

/** A schedule that is later than this was not taken up. */
const lateMs = 60_000;

/** Whether jobs are safe there, and failed ones. Changes nothing. */
export async function checkQueue(queues: Queues): Promise<Finding[]> {
  const facts = await readQueueFacts(queues);
  const findings: Finding[] = [];
  if (facts.kind === 'postgres') findings.push(ok('BullMQ on Postgres answers, its tables are there'));
  else if (facts.evictionPolicy !== undefined && facts.evictionPolicy !== 'noeviction') {
    const what = `Redis ${facts.version} drops keys when its memory is full (${facts.evictionPolicy}): jobs would vanish`;
    findings.push(warning(what, 'set maxmemory-policy noeviction'));
  } else findings.push(ok(`BullMQ on Redis ${facts.version} answers`));
  if (facts.workers === 0) findings.push(warning('no worker is connected', 'start npx review-sync worker'));
  else if (facts.workers !== undefined) findings.push(ok(`${facts.workers} workers are connected`));
  return findings;
}

/** The schedules that the queue holds against those configured: lost, changed, doubled, foreign, late. */
export async function checkSchedules(queues: Queues, configured: readonly Schedule[], now: Date): Promise<Finding[]> {
  const held = await plannedRuns(queues);
  if (configured.length === 0 && held.length === 0)
    return [warning('no schedule is configured', 'set SCHEDULE_ORDERS and the others')];
  if (held.length === 0)
    return [warning('the queue holds no schedule: nothing runs by itself', 'start npx review-sync worker')];
  const findings = configured.map((schedule) => one(schedule, held, now));
  const foreign = held.filter(({ job }) => !configured.some((schedule) => schedule.job === job));
  for (const { job, enqueues, pattern } of foreign) {
    const isDouble = configured.some((schedule) => schedule.job === enqueues);
    const what = isDouble
      ? `${enqueues} is scheduled a second time, as ${job} (${pattern})`
      : `${job} (${pattern}) is in the queue, but not configured`;
    findings.push(warning(what, 'start npx review-sync worker: it brings the queue in line'));
  }
  return findings;
}

function one({ job, pattern, timeZone }: Schedule, held: readonly PlannedRun[], now: Date): Finding {
  const planned = held.find((run) => run.job === job);
  const inLine = 'start npx review-sync worker: it brings the queue in line';
  if (!planned) return warning(`${job} (${pattern}) is configured, but not in the queue`, inLine);
  if (planned.pattern !== pattern || planned.timeZone !== timeZone) {
    const found = `${planned.pattern} in ${planned.timeZone}`;
    return warning(
      `${job} runs at ${found}, configured is ${pattern} in ${timeZone}`,
      `${inLine}; where that does not last, another worker has another configuration`,
    );
  }
  const next = planned.next;
  if (!next || next.getTime() < now.getTime() - lateMs) {
    const since = next ? `was due at ${next.toISOString()} and was not taken up` : 'has no next run';
    return fault(`${job} ${since}`, 'start npx review-sync worker, or see the log of the one that runs');
  }
  return ok(`${job} runs next at ${next.toISOString()}`);
}
