import { type Finding, fault, ok, warning } from '../finding.ts';
import { biTimeZone, readWarehouseFacts, tryToWrite } from '../warehouse/checkup.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { databaseFault } from './database-trouble.ts';
import { inTime } from './in-time.ts';

const variable = 'WAREHOUSE_DATABASE_URL';
/** Older ones lack what the migrations use. */
const oldestVersion = 14;

/** Version, rights, migrations, and whether a row can be written. Changes nothing. */
export async function checkWarehouse(
  warehouse: Warehouse,
  { url, timeZone }: { url: string; timeZone: string },
): Promise<Finding[]> {
  const facts = await inTime(readWarehouseFacts(warehouse), url).catch((error: unknown) =>
    databaseFault('cannot be used', error, variable),
  );
  if ('verdict' in facts) return [facts];
  const findings: Finding[] = [];
  const { used, most } = facts.connections;
  const is = `Postgres ${facts.version}, user ${facts.user}, ${used} of ${most} connections in use`;
  if (Number.parseInt(facts.version, 10) < oldestVersion) {
    findings.push(fault(is, `upgrade Postgres to ${oldestVersion} or newer`));
  } else if (used > most * 0.9) findings.push(warning(is, 'raise max_connections or run fewer processes'));
  else findings.push(ok(is));
  if (facts.isStandby)
    findings.push(fault('this server is a standby, which takes no writes', `point ${variable} at the primary`));
  if (facts.unknown.length > 0) {
    const newer = `migrations ${facts.unknown.join(', ')} are of a newer version than this program`;
    findings.push(fault(newer, 'run one version on all machines'));
  }
  if (facts.pending.length > 0) return [...findings, ...pendingFaults(facts)];
  findings.push(ok('all migrations are applied'));
  if (facts.withheld.length > 0) {
    const tables = facts.withheld.slice(0, 3).join(', ');
    const withheld = `the user may not read and write ${facts.withheld.length} tables: ${tables}`;
    return [
      ...findings,
      fault(withheld, 'grant select, insert, update, delete on them, or run as the user who migrated'),
    ];
  }
  return [...findings, await zoneOfViews(warehouse, timeZone), await tried(warehouse)];
}

function pendingFaults({ pending, mayCreateSchemas }: { pending: string[]; mayCreateSchemas: boolean }): Finding[] {
  const findings = [fault(`migrations are missing: ${pending.join(', ')}`, 'npx review-sync migrate')];
  if (!mayCreateSchemas) {
    findings.push(
      fault('the user may not create schemas, which migrating needs', 'grant create on database … to the user'),
    );
  }
  return findings;
}

async function zoneOfViews(warehouse: Warehouse, timeZone: string): Promise<Finding> {
  const zone = await biTimeZone(warehouse);
  if (zone === timeZone) return ok(`the views of bi cut days in ${zone}`);
  return warning(`the views of bi cut days in ${zone}, configured is ${timeZone}`, 'npx review-sync migrate');
}

async function tried(warehouse: Warehouse): Promise<Finding> {
  try {
    await tryToWrite(warehouse);
    return ok('a row and ten megabytes could be written, and were taken back');
  } catch (error) {
    return databaseFault('a row could not be written', error, variable);
  }
}
