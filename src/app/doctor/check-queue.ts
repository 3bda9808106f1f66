import { evictionPolicy } from '../../queue/connection.ts';
import type { Queues } from '../../queue/index.ts';
import { lateMs, plannedRuns, type Schedule } from '../../queue/schedules.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

/** Whether the queue keeps jobs safely. Changes nothing. */
export async function checkQueue(queues: Queues): Promise<Finding[]> {
  const policy = (await evictionPolicy(queues.url)) ?? 'noeviction';
  if (policy === 'noeviction') return [ok(`BullMQ on ${queues.kind === 'redis' ? 'Redis' : 'Postgres'} responds`)];
  const what = `Redis drops keys when its memory is full (${policy}): jobs would be lost`;
  return [warning(what, 'set maxmemory-policy noeviction')];
}

/** Whether the queue has exactly the configured schedules, and whether workers take their runs. */
export async function checkSchedules(queues: Queues, configured: readonly Schedule[], now: Date): Promise<Finding[]> {
  const planned = await plannedRuns(queues);
  const start = 'start review-sync worker';
  if (configured.length === 0 && planned.length === 0)
    return [warning('no schedule is configured', 'set SCHEDULE_ORDERS and the others')];
  if (planned.length === 0) return [warning('the queue holds no schedule: no run starts by itself', start)];
  const nameOf = ({ job, pattern, timeZone }: Schedule) => `${job} (${pattern} in ${timeZone})`;
  const wanted = configured.map(nameOf);
  const there = planned.map(nameOf);
  const only = (some: string[], others: string[]) => some.filter((one) => !others.includes(one)).join(', ') || 'none';
  const isSame = wanted.sort().join() === there.sort().join();
  const what = `other schedules are in the queue (${only(there, wanted)}) than are configured (${only(wanted, there)})`;
  const hint = `${start}: it sets the schedules; if they change back, another worker has another configuration`;
  const runs = planned.map(({ job, next }) =>
    next && next.getTime() >= now.getTime() - lateMs
      ? ok(`${job} runs next at ${next.toISOString()}`)
      : fault(`${job} ${next ? `was due at ${next.toISOString()}, and no worker took it` : 'has no next run'}`, start),
  );
  return [...(isSame ? [] : [warning(what, hint)]), ...runs];
}
