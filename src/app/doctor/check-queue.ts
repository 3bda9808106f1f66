import { counted } from '../../base/counts.ts';
import type { Queues } from '../../queue/index.ts';
import { readQueueFacts } from '../../queue/queue-facts.ts';
import { plannedRuns, type Schedule } from '../../queue/schedules.ts';
import { type Finding, fault, ok, someOf, warning } from './finding.ts';

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
  if (facts.kind === 'postgres') {
    return [ok('BullMQ on Postgres responds, its tables exist'), ...checkReaders(facts, isInWarehouse)];
  }
  const { version, evictionPolicy = 'noeviction', workers } = facts;
  const what = `Redis ${version} drops keys when its memory is full (${evictionPolicy}): jobs would be lost`;
  return [
    evictionPolicy === 'noeviction'
      ? ok(`BullMQ on Redis ${version} responds`)
      : warning(what, 'set maxmemory-policy noeviction'),
    workers === 0
      ? warning('no worker is connected', 'start npx review-sync worker')
      : ok(`${counted(workers, 'worker is', 'workers are')} connected`),
  ];
}

/** A BI user who holds an advisory lock of BullMQ stops the queue. No right can be taken away that would prevent it. */
function checkReaders(
  { readers, database }: { readers: readonly string[]; database: string },
  isInWarehouse: boolean,
): Finding[] {
  if (readers.length === 0) return [];
  const what =
    `${counted(readers.length, 'user')} with bi_reader (${someOf(readers)}) may connect to its database, ` +
    'where they can hold the advisory locks of BullMQ: no job would run meanwhile';
  const hint = isInWarehouse
    ? 'set QUEUE_URL to a Redis or to a database to which they may not connect, or give bi_reader to people you trust only'
    : `run: revoke connect on database ${database} from public; then grant connect on it to the user of QUEUE_URL`;
  return [warning(what, hint)];
}

/** Whether the queue has exactly the configured schedules, and whether workers take their runs. */
export async function checkSchedules(queues: Queues, configured: readonly Schedule[], now: Date): Promise<Finding[]> {
  const planned = await plannedRuns(queues);
  const start = 'start npx review-sync worker';
  if (configured.length === 0 && planned.length === 0)
    return [warning('no schedule is configured', 'set SCHEDULE_ORDERS and the others')];
  if (planned.length === 0) return [warning('the queue holds no schedule: no run starts by itself', start)];
  const nameOf = ({ job, pattern, timeZone }: Schedule) => `${job} (${pattern} in ${timeZone})`;
  const [wanted, there] = [configured.map(nameOf), planned.map(nameOf)];
  const lists = [
    ['configured, but not in the queue', wanted.filter((one) => !there.includes(one))],
    ['in the queue, but not configured', there.filter((one) => !wanted.includes(one))],
  ] as const;
  const hint = `${start}: it sets the schedules; if they change back, another worker has another configuration`;
  const differing = lists.flatMap(([what, names]) =>
    names.length === 0 ? [] : [warning(`${names.join(', ')}: ${what}`, hint)],
  );
  const runs = planned.map(({ job, next }) =>
    next && next.getTime() >= now.getTime() - lateMs
      ? ok(`${job} runs next at ${next.toISOString()}`)
      : fault(`${job} ${next ? `was due at ${next.toISOString()}, and no worker took it` : 'has no next run'}`, start),
  );
  return [...differing, ...runs];
}
