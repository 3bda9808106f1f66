import type { Queues } from '../../queue/index.ts';
import { type QueueFacts, readQueueFacts } from '../../queue/queue-facts.ts';
import { type PlannedRun, plannedRuns, type Schedule } from '../../queue/schedules.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

/** A run that is overdue by more than this was not taken by a worker. */
const lateMs = 60_000;

/**
 * Whether the queue keeps jobs safely, whether BI users could stop it, and whether workers are connected. Changes
 * nothing.
 *
 * @param isInWarehouse whether its database is the warehouse.
 */
export async function checkQueue(queues: Queues, isInWarehouse: boolean): Promise<Finding[]> {
  const facts = await readQueueFacts(queues);
  const findings: Finding[] = [];
  if (facts.kind === 'postgres') findings.push(ok('BullMQ on Postgres responds, its tables exist'));
  else if (facts.evictionPolicy !== undefined && facts.evictionPolicy !== 'noeviction') {
    const what = `Redis ${facts.version} drops keys when its memory is full (${facts.evictionPolicy}): jobs would be lost`;
    findings.push(warning(what, 'set maxmemory-policy noeviction'));
  } else findings.push(ok(`BullMQ on Redis ${facts.version} responds`));
  if (facts.workers === 0) findings.push(warning('no worker is connected', 'start npx review-sync worker'));
  else if (facts.workers !== undefined) findings.push(ok(`${facts.workers} workers are connected`));
  return [...findings, ...checkReaders(facts, isInWarehouse)];
}

/** A BI user who holds an advisory lock of BullMQ stops the queue. No right can be taken away that would prevent it. */
function checkReaders({ readers, database }: QueueFacts, isInWarehouse: boolean): Finding[] {
  if (readers.length === 0) return [];
  const names = readers.slice(0, 3).join(', ') + (readers.length > 3 ? ' …' : '');
  const what =
    `${readers.length} users with bi_reader (${names}) may connect to its database, ` +
    'where they can hold the advisory locks of BullMQ: no job would run meanwhile';
  const close = `revoke connect on database ${database} from public`;
  return [
    warning(
      what,
      isInWarehouse
        ? 'set QUEUE_URL to a Redis or to a database to which they may not connect, ' +
            'or give bi_reader to people you trust only'
        : `run: ${close}; then grant connect on it to the user of QUEUE_URL`,
    ),
  ];
}

/** Compares the schedules in the queue with those configured: missing, changed, duplicate, unknown, overdue. */
export async function checkSchedules(queues: Queues, configured: readonly Schedule[], now: Date): Promise<Finding[]> {
  const planned = await plannedRuns(queues);
  if (configured.length === 0 && planned.length === 0)
    return [warning('no schedule is configured', 'set SCHEDULE_ORDERS and the others')];
  if (planned.length === 0)
    return [warning('the queue holds no schedule: no run starts by itself', 'start npx review-sync worker')];
  const findings = configured.map((schedule) => checkSchedule(schedule, planned, now));
  const unknown = planned.filter(({ job }) => !configured.some((schedule) => schedule.job === job));
  for (const { job, enqueues, pattern } of unknown) {
    const isDuplicate = configured.some((schedule) => schedule.job === enqueues);
    const what = isDuplicate
      ? `${enqueues} is scheduled a second time, as ${job} (${pattern})`
      : `${job} (${pattern}) is in the queue, but not configured`;
    findings.push(warning(what, 'start npx review-sync worker: it sets the schedules'));
  }
  return findings;
}

function checkSchedule({ job, pattern, timeZone }: Schedule, all: readonly PlannedRun[], now: Date): Finding {
  const planned = all.find((run) => run.job === job);
  const startWorker = 'start npx review-sync worker: it sets the schedules';
  if (!planned) return warning(`${job} (${pattern}) is configured, but not in the queue`, startWorker);
  if (planned.pattern !== pattern || planned.timeZone !== timeZone) {
    const found = `${planned.pattern} in ${planned.timeZone}`;
    return warning(
      `${job} runs at ${found}, configured is ${pattern} in ${timeZone}`,
      `${startWorker}; if the schedule changes back, another worker has another configuration`,
    );
  }
  const next = planned.next;
  if (!next || next.getTime() < now.getTime() - lateMs) {
    const since = next ? `was due at ${next.toISOString()} and no worker took it` : 'has no next run';
    return fault(`${job} ${since}`, 'start npx review-sync worker, or read the log of the running one');
  }
  return ok(`${job} runs next at ${next.toISOString()}`);
}
