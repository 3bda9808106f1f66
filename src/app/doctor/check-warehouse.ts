import { fieldDrift } from '../../warehouse/field-shapes.ts';
import type { Warehouse } from '../../warehouse/index.ts';
import { createInUtf8 } from '../../warehouse/migrate.ts';
import { biTimeZone, readWarehouseFacts } from '../../warehouse/warehouse-facts.ts';
import { drift } from '../alert-rules.ts';
import { applying, type Finding, failed, fault, inTime, ok, warning } from './finding.ts';

const variable = 'WAREHOUSE_DATABASE_URL';

/** The migrations use features of this version. */
const oldestVersion = 14;

/** Version, rights and migrations. Changes nothing. */
export async function checkWarehouse(warehouse: Warehouse, timeZone: string): Promise<Finding[]> {
  const facts = await inTime(readWarehouseFacts(warehouse)).catch((error: unknown) =>
    failed(error, variable, 'cannot be used'),
  );
  if ('level' in facts) return [facts];
  const { version, user, encoding, pending, newer, otherOwners, openSchemas, searchPath } = facts;
  const { isReadOnly, mayCreateSchemas, mayCreateTemporary } = facts;
  const { used, most } = facts.connections;
  const server = `Postgres ${version}, user ${user}, ${used} of ${most} connections in use`;
  const isOld = Number.parseInt(version, 10) < oldestVersion;
  const faults = applying(fault, [
    [isOld, server, `upgrade Postgres to ${oldestVersion} or newer`],
    [
      encoding !== 'UTF8',
      `the database has the encoding ${encoding}, expected UTF8: one Korean letter in a review stops its run`,
      `point ${variable} at a new database: ${createInUtf8}`,
    ],
    [
      isReadOnly,
      'this server is a standby or read-only: it takes no writes',
      `point ${variable} at the primary, or free its disk and end the read-only mode`,
    ],
    [
      newer.length > 0,
      `migrations ${newer.join(', ')} are of a newer version than this program`,
      'run one version on all machines',
    ],
    [pending.length > 0, `migrations are missing: ${pending.join(', ')}`, 'review-sync migrate'],
    [
      pending.length > 0 && !mayCreateSchemas,
      'the user may not create schemas, which migrating needs',
      'grant create on database … to the user',
    ],
    [
      !mayCreateTemporary,
      'the user may not create temporary tables, which the counts of bi need: no run ends as done',
      'grant temporary on database … to the user',
    ],
    [
      otherOwners.length > 0,
      `the tables belong to ${otherOwners.join(', ')}, whose rights the user ${user} does not have`,
      `run as the user who migrated, or: grant ${otherOwners.join(', ')} to ${user}`,
    ],
  ]);
  const findings = [...(isOld ? [] : [ok(server)]), ...faults];
  if (pending.length > 0 || otherOwners.length > 0) return findings;
  const zone = await biTimeZone(warehouse);
  const warnings = [
    ...applying(warning, [
      [zone !== timeZone, `the days of bi are in ${zone}, but ${timeZone} is configured`, 'review-sync migrate'],
      // Another role, such as a BI user, could make us run its code.
      [
        openSchemas.length > 0,
        `every role of the database may create functions in the schema ${openSchemas.join(', ')}`,
        `let its owner run: ${openSchemas.map((schema) => `revoke create on schema ${schema} from public`).join('; ')}`,
      ],
      [
        !/^pg_catalog\b/.test(searchPath),
        `our connections look for functions in ${searchPath}, not in pg_catalog first: a pooler dropped the startup option`,
        'let the pooler pass on the startup parameter options, or run: alter role … set search_path = pg_catalog; ' +
          "alter role … set datestyle = ISO; alter role … set default_transaction_isolation = 'read committed'; " +
          'alter role … set idle_in_transaction_session_timeout = 150000',
      ],
    ]),
    ...drift({ drift: await fieldDrift(warehouse.db) }).map(({ what, hint }) => warning(what, hint)),
  ];
  const well = `the days of bi are in ${zone}, and no other role can create functions where our statements look for them`;
  return [...findings, ok('all migrations are applied'), ...(warnings.length > 0 ? warnings : [ok(well)])];
}
