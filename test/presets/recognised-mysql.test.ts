import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { initShop } from '../../src/app/init/init-shop.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { createMysqlDatabase, hasMariadb } from '../harness/servers.ts';

/** A shop with these tables, and what init makes of it in a folder. */
async function initIn(statements: string) {
  const database = await createMysqlDatabase();
  await database.query(statements);
  const folder = await temporaryFolder();
  const environment = { SHOP_DATABASE_URL: database.url };
  const report = await initShop({ command: 'init', environment, dir: folder, envFile: join(folder, '.env') });
  return { report, folder };
}

/** The same for the tables of a preset, under a prefix of their own. */
async function initOf(preset: string, prefix: string, renamed: string, sql = '') {
  const schema = await readFile(join(import.meta.dirname, preset, 'schema.sql'), 'utf8');
  const statements = `set sql_mode = ''; ${schema} ${sql}`;
  const { report, folder } = await initIn(
    prefix === '' ? statements : statements.replaceAll(new RegExp(`\\b${prefix}`, 'g'), renamed),
  );
  const env = parseEnv(await readFile(join(folder, '.env'), 'utf8'));
  const faults = report.findings.filter(({ level }) => level === 'fault');
  const { name, prefix: found } = { ...report.preset };
  const { SHOP_TIME_ZONE: zone, SCHEDULE_RECONCILE: reconcile } = env;
  return { preset: name, prefix: found, warnings: report.warnings, faults, zone, reconcile };
}

test.skipIf(!hasMariadb)('an unknown shop on MariaDB gets the template in its own SQL', async () => {
  const { folder } = await initIn('create table something (id integer)');
  const template = await readFile(packagePath('sql', 'demo', 'mariadb', 'order_lines.sql'), 'utf8');
  expect(await readFile(join(folder, 'order_lines.sql'), 'utf8')).toBe(template);
});

const optionOf = (value: string) =>
  `insert into wp_options (option_name, option_value) values ('siteurl', 'https://shop.example.com'),
     ('woocommerce_custom_orders_table_enabled', '${value}')`;
const posts = `create table wp_posts (ID bigint unsigned primary key, post_type varchar(20), post_status varchar(20),
  post_parent bigint unsigned, post_date_gmt datetime, post_modified_gmt datetime)`;

const zoneOfPrestashop = `insert into ps_configuration (name, value) values ('PS_TIMEZONE', 'Europe/Paris')`;
const zoneOfOpencart =
  "insert into oc_setting (code, `key`, value) values ('config', 'config_timezone', 'America/New_York')";

test.skipIf(!hasMariadb).each<[preset: string, prefix: string, renamed: string, sql: string, more: object]>([
  ['woocommerce-legacy', 'wp_', 'x7_', optionOf('no'), { zone: 'UTC' }],
  ['magento2', 'sales_', 'sales_', '', { prefix: '', zone: undefined }],
  ['shopware6', '', '', '', { prefix: '', zone: 'UTC' }],
  ['youngcart5', 'g5_', 'x7_', '', { zone: 'Asia/Seoul', reconcile: '15 * * * *' }],
  ['prestashop', 'ps_', 'x7_', zoneOfPrestashop, { zone: 'Europe/Paris' }],
  ['opencart4', 'oc_', 'x7_', zoneOfOpencart, { zone: 'America/New_York' }],
  // Their tables differ by one column, which is there in the one and must not be in the other.
  ['opencart3', 'oc_', 'x7_', zoneOfOpencart, { zone: 'America/New_York' }],
  // The zone of a shop that sets none is unknown: a person fills it in.
  ['opencart4', 'oc_', 'x7_', '', { zone: '', faults: expect.any(Array) }],
  // A shop that has both ways of keeping orders is read the way that rules.
  ['woocommerce', 'wp_', 'x7_', `${optionOf('yes')}; ${posts}`, { zone: 'UTC' }],
  ['woocommerce', 'wp_', 'x7_', `${optionOf('no')}; ${posts}`, { zone: 'UTC', preset: 'woocommerce-legacy' }],
])('init recognises %s on MariaDB by its tables, %s or %s', async (preset, prefix, renamed, sql, more) => {
  const found = await initOf(preset, prefix, renamed, sql);
  expect(found).toEqual({ preset, prefix: 'x7_', warnings: [], faults: [], ...more });
});
