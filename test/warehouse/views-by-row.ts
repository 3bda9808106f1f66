import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

type Run = (text: string) => Promise<Record<string, unknown>[]>;

/**
 * Compares each view of bi that is answered from counts with the view of the same name and columns in the schema
 * `by_row`, which reads every row (views-by-row.sql). Creates that schema where it is missing.
 *
 * @returns the rows that differ: `view`, and the row with whether it is too much or missing in bi.
 */
export async function differencesByRow(run: Run): Promise<Record<string, unknown>[]> {
  const [there] = await run(`select to_regnamespace('by_row') is not null as is_there`);
  if (there?.is_there !== true) await run(await readFile(join(import.meta.dirname, 'views-by-row.sql'), 'utf8'));
  const views = await run(`
    select relname as name from pg_class
    where relnamespace = 'by_row'::regnamespace and to_regclass('bi.' || relname) is not null`);
  if (views.length !== 12) throw new Error(`expected 12 views that count, found ${views.length}`);
  const differing = views.map(
    ({ name }) => `select '${name}' as view, to_jsonb(differing) as row from (
      (select 'too much' as is, * from bi.${name} except all select 'too much', * from by_row.${name})
      union all
      (select 'missing', * from by_row.${name} except all select 'missing', * from bi.${name})
    ) as differing`,
  );
  return run(differing.join(' union all '));
}
