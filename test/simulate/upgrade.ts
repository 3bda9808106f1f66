import { readdir } from 'node:fs/promises';
import { packagePath } from '../../src/base/package-path.ts';
import type { Random } from '../../src/sandbox/sample-shop/random.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import type { Effect } from './shop-events.ts';
import { command, type Stage } from './stage.ts';

/** Migrations up to this one renamed columns: rows of today do not fit the tables before. test/warehouse/upgrade.test.ts tests those. */
const oldest = '0019';

/** What older versions had where later ones have nothing. */
const hadBefore: Readonly<Record<string, object>> = {
  'sync.dead_letters': { payload: {} },
  'sync.sub_order_links': { was_sent_again: false },
};

/** Kinds of gaps as they were called before 0034. */
const gapsBefore = `update sync.open_gaps set kind = case kind when 'too-many' then 'unreachable' when 'too-few' then 'implausible'
  when 'dead-letter' then 'unwritten' when 'step-failed' then 'failed' when 'service-error' then 'refused' else kind end`;

const tablesSql = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('sync', 'warehouse') and c.relkind = 'r' order by 1`;
const identitiesSql = `select format('%I.%I', n.nspname, c.relname) as name, a.attname as column
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('sync', 'warehouse') and a.attidentity <> ''`;

/**
 * The version that was running until now was an older one: its warehouse has the same rows, without the columns and tables
 * that it did not know. Then the new version is installed, and `migrate` run.
 */
export async function upgrade(stage: Stage, random: Random): Promise<Effect> {
  const files = (await readdir(packagePath('sql', 'warehouse'))).filter((file) => /^\d{4}_.*\.sql$/.test(file));
  const versions = files.map((file) => file.replace('.sql', '')).filter((name) => name >= oldest);
  const version = random.pick(versions.sort().slice(0, -1));
  const { warehouse } = stage;
  // The logs of changes had other columns. What is folded is in the counts, and the logs are empty.
  await warehouse('select sync.fold_changes()');
  if (version < '0034')
    await warehouse(`alter table sync.open_gaps drop constraint open_gaps_kind_check; ${gapsBefore}`);
  const rows = new Map<unknown, unknown>();
  for (const { name } of await warehouse(tablesSql)) {
    const had = JSON.stringify(hadBefore[String(name)] ?? {});
    const [table] = await warehouse(
      `select coalesce(jsonb_agg($1::jsonb || jsonb_strip_nulls(to_jsonb(t))), '[]') as rows from ${name} t`,
      [had],
    );
    rows.set(name, table?.rows);
  }
  await warehouse('drop schema sync, warehouse, bi, review_sync_migrations cascade');
  const old = await openWarehouse({ url: stage.urls.warehouse, connections: 1 });
  try {
    await migrateWarehouse(old.db, version);
  } finally {
    await old.close();
  }
  for (const { name } of await warehouse(tablesSql)) {
    // Its rows are written by migrations.
    if (name === 'sync.locks') continue;
    // No trigger may add to the rows.
    const json = JSON.stringify(rows.get(name) ?? []).replaceAll("'", "''");
    await warehouse(`set session_replication_role = replica; delete from ${name};
      insert into ${name} overriding system value select * from jsonb_populate_recordset(null::${name}, '${json}'::jsonb);
      reset session_replication_role`);
  }
  for (const { name, column } of await warehouse(identitiesSql)) {
    await warehouse(
      `select setval(pg_get_serial_sequence('${name}', '${column}'), (select coalesce(max(${column}), 0) + 1 from ${name}))`,
    );
  }
  const end = await command(stage, ['migrate']);
  if (end.status !== 0) throw new Error(`migrate from ${version} failed: ${end.stderr}`);
  return {};
}
