import type { Warehouse } from '../../warehouse/index.ts';
import { readRights } from '../../warehouse/rights.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

/** Whether another role of the warehouse's database, such as a BI user, could make us run its code. Changes nothing. */
export async function checkRights(warehouse: Warehouse): Promise<Finding[]> {
  const { openSchemas, searchPath, foreignCalls, unpinned } = await readRights(warehouse);
  const findings: Finding[] = [];
  if (openSchemas.length > 0) {
    const what = `every role of the database may create functions in the schema ${openSchemas.join(', ')}`;
    const revokes = openSchemas.map((schema) => `revoke create on schema ${schema} from public`);
    findings.push(warning(what, `let its owner run: ${revokes.join('; ')}`));
  }
  if (!/^pg_catalog\b/.test(searchPath)) {
    findings.push(
      warning(
        `our connections look for functions in ${searchPath}, not in pg_catalog first: a pooler dropped the startup option`,
        'let the pooler pass on the startup parameter options, or run: alter role … set search_path = pg_catalog',
      ),
    );
  }
  if (foreignCalls.length > 0) {
    const what = `${foreignCalls.length} views use functions that are not ours: ${foreignCalls.slice(0, 3).join(', ')}`;
    findings.push(fault(what, 'find out who created the functions; drop them with cascade, then restore the views'));
  }
  if (unpinned.length > 0) {
    const what = `${unpinned.length} functions of ours have no search path of their own: ${unpinned.slice(0, 3).join(', ')}`;
    findings.push(fault(what, 'run: alter function … set search_path = pg_catalog, pg_temp'));
  }
  return findings.length > 0 ? findings : [ok('no other role can create functions where our statements look for them')];
}
