import { sql } from 'kysely';
import type { Db } from './index.ts';

export type Lateness = { job: string; reviews: number; longestSeconds: number };

/** How many reviews came late since then, by the job that found them, and how late at the most. */
export async function lateness(db: Db, since: Date): Promise<Lateness[]> {
  const { rows } = await sql<Lateness>`
    select coalesce(r.job, 'unknown') as job, count(*)::integer as reviews,
      round(extract(epoch from max(l.found_at - l.dated_at)))::bigint as "longestSeconds"
    from sync.late_reviews l
    left join sync.runs r on r.id = l.run_id
    where l.found_at >= ${since}
    group by 1
    order by 1`.execute(db);
  return rows;
}
