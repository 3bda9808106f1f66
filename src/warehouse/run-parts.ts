import { sql } from 'kysely';
import type { Db } from './index.ts';

/** What one process did of a run. */
export type RunPart = {
  /** The process, as `host:pid`. */
  worker: string;
  /** Steps that it brought to their end; one that was run twice counts twice. */
  steps: number;
  counts: Record<string, number>;
  /** When the first and the last of these steps ended. */
  firstAt: Date;
  lastAt: Date;
};

/** Adds a step that ended to the worker's part of its run. By the warehouse's clock: those of the machines may differ. */
export async function addToPart(
  db: Db,
  step: { runId: string; worker: string; counts: Record<string, number> },
): Promise<void> {
  await sql`
    insert into sync.run_parts as known (run_id, worker, steps, counts, first_at, last_at)
    values (${step.runId}, ${step.worker}, 1, ${JSON.stringify(step.counts)}::jsonb, now(), now())
    on conflict (run_id, worker) do update set
      steps = known.steps + 1,
      counts = (
        select coalesce(jsonb_object_agg(kind, n), '{}')
        from (
          select key as kind, sum(value::numeric) as n
          from (
            select * from jsonb_each_text(known.counts) union all select * from jsonb_each_text(excluded.counts)
          ) as both_counts
          group by key
        ) as sums
      ),
      last_at = excluded.last_at
  `.execute(db);
}

/** The parts of each of the runs, in the order in which the processes joined; a run without any is left out. */
export async function partsOfRuns(db: Db, runIds: readonly string[]): Promise<Map<string, RunPart[]>> {
  const { rows } = await sql<RunPart & { runId: string }>`
    select run_id as "runId", worker, steps, counts, first_at as "firstAt", last_at as "lastAt"
    from sync.run_parts
    where run_id = any(${runIds})
    order by first_at, worker`.execute(db);
  const parts = new Map<string, RunPart[]>();
  for (const { runId, ...part } of rows) parts.set(runId, [...(parts.get(runId) ?? []), part]);
  return parts;
}

/** What a person reads of a part: `12 steps, 3,400 reviews`. */
export function partText({ steps, counts }: Pick<RunPart, 'steps' | 'counts'>): string {
  const kinds = ['reviews', 'orders'].filter((kind) => (counts[kind] ?? 0) > 0);
  const told = kinds.map((kind) => `${(counts[kind] ?? 0).toLocaleString('en')} ${kind}`);
  return [`${steps.toLocaleString('en')} ${steps === 1 ? 'step' : 'steps'}`, ...told].join(', ');
}
