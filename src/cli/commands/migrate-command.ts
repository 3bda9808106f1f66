import { Option } from 'commander';
import { requireMigrated } from '../../app/app.ts';
import { type Config, isWhole, readDeployment } from '../../app/config.ts';
import { completeUnion, dropUnusedBrand, migrateSchemas, moveWarehouseTo } from '../../app/migrate.ts';
import { serviceOf } from '../../app/require-same-service.ts';
import { declareSameOrders } from '../../app/require-same-shop.ts';
import { counted } from '../../base/counts.ts';
import { UsageError } from '../../base/errors.ts';
import { openShop } from '../../shop/index.ts';
import { dropUnion } from '../../warehouse/bi/all-brands.ts';
import { recountAll } from '../../warehouse/bi/recount.ts';
import { recordConnectedService } from '../../warehouse/connected-service.ts';
import { acceptGone } from '../../warehouse/field-shapes.ts';
import { type Db, openWarehouse, type Warehouse } from '../../warehouse/index.ts';
import { recordSameShop } from '../../warehouse/orders/known-orders.ts';
import { promoteField } from '../../warehouse/promote-field.ts';
import type { Context, Define, Report } from '../command.ts';

const withoutReader = (brand: string | undefined) => {
  const roles = ['bi_reader', ...(brand === undefined ? [] : [`bi_reader_${brand}`])];
  const create = roles.map((role) => `create role ${role} nologin;`).join(' ');
  return `Only the owner can read the views of bi yet: the role ${roles.join(' or ')} is missing, and this user may not create it.
Ask an administrator to run: ${create} then run migrate again.`;
};

/** Dependencies of an extra. `unbranded`: the database without the schemas of a brand. */
type At = { warehouse: Warehouse; unbranded: Db; config: Config; signal: AbortSignal };

type Extra = { flags: string; about: string; isAboutOneBrand?: true; act(at: At, value: string): Promise<string> };

/**
 * Extra work of `migrate`, by Commander's name of the option. It follows the schemas, and returns a sentence about its
 * work.
 */
const extras: Readonly<Record<string, Extra>> = {
  rebuild: {
    flags: '--rebuild',
    about: 'count again what the views of bi are answered from; minutes for ten million reviews',
    async act({ warehouse }) {
      await recountAll(warehouse.db);
      return 'Reviews and deliveries were counted again for the views of bi.';
    },
  },
  acceptGone: {
    flags: '--accept-gone <field>',
    about: 'the service shows this field of reviews no more: reviews that come from now on clear its column',
    isAboutOneBrand: true,
    async act({ warehouse }, field) {
      if (await acceptGone(warehouse.db, field)) return `Reviews that come without ${field} clear its column.`;
      const hint = "See: select field from bi.field_drift where change = 'gone'";
      throw new UsageError(`No field ${JSON.stringify(field)} has vanished from all reviews`, { hint });
    },
  },
  promote: {
    flags: '--promote <extra.field:type>',
    about:
      'make a column of warehouse.reviews and bi.reviews from a field of extra: text, bigint, numeric, boolean or ' +
      'jsonb; the table is rewritten',
    async act({ warehouse, unbranded }, field) {
      // `completeUnion` creates the views again, with the column.
      if (warehouse.brand !== undefined) await dropUnion(unbranded);
      const { column, isNew } = await promoteField(warehouse.db, field);
      return `${column} ${isNew ? 'is now' : 'was already'} a column of warehouse.reviews and bi.reviews.`;
    },
  },
  sameService: {
    flags: '--same-service',
    about:
      'the service of REVIEW_API_BASE_URL is the one that this warehouse was used with, although it knows none of its records',
    isAboutOneBrand: true,
    async act({ warehouse, config: { api } }) {
      await recordConnectedService(warehouse.db, serviceOf(api));
      return `Links, cursors and reviews belong to the service of REVIEW_API_BASE_URL, ${api.baseUrl}.`;
    },
  },
  sameShop: {
    flags: '--same-shop',
    about:
      'the shop of SHOP_DATABASE_URL is the one that this warehouse was used with, although it shows none of the ' +
      'orders that were looked for',
    isAboutOneBrand: true,
    async act({ warehouse }) {
      await recordSameShop(warehouse.db);
      return 'The orders of this warehouse belong to the shop of SHOP_DATABASE_URL.';
    },
  },
  sameOrders: {
    flags: '--same-orders',
    about: 'the orders of the shop are the pushed ones, although their dates of creation changed; stores the new dates',
    isAboutOneBrand: true,
    async act({ warehouse: { db }, config, signal }) {
      await using shop = openShop({ ...config.shop, connections: 1, signal });
      const changed = await declareSameOrders({ shop, db });
      if (changed > 0) await recountAll(db);
      return `${counted(changed, 'pushed order')} had another date of creation in the shop, and took it over.`;
    },
  },
};

/** Flags without a value are true. */
type Options = { [name: string]: string | true | undefined };

/** The extras that a person asked for, with the values of their options. */
type Asked = readonly (readonly [name: string, extra: Extra, value: string | true])[];

export const define: Define = (commander, run) => {
  for (const { flags, about } of Object.values(extras)) commander.option(flags, about);
  commander
    .addHelpText('after', '\nSafe to run twice and from two machines at once. Run it before each new version’s worker.')
    .addOption(
      new Option(
        '--as-brand <name>',
        'with BRANDS_DIR: make the warehouse without brands that of this brand',
      ).conflicts(['dropBrand', 'apply', 'brand', ...Object.keys(extras)]),
    )
    .addOption(
      new Option(
        '--drop-brand <name>',
        'say what the warehouse holds of a brand whose file is gone; with --apply drop it',
      ).conflicts(['brand', ...Object.keys(extras)]),
    )
    .option('--apply', 'with --drop-brand: drop it')
    .action(({ asBrand: moved, dropBrand: dropped, apply, ...options }: Options) => {
      if (typeof moved === 'string') return run((context) => asBrand(context, moved), 'all');
      if (typeof dropped === 'string') return run((context) => drop(context, dropped, apply === true), 'all');
      const asked = Object.entries(extras).flatMap(([name, extra]) => {
        const value = options[name];
        return value === undefined ? [] : [[name, extra, value] as const];
      });
      const isAboutOne = asked.some(([, { isAboutOneBrand }]) => isAboutOneBrand);
      return run((context) => migrateInTurn(context, asked), isAboutOne ? 'one' : 'each');
    });
};

/** Migrates a brand, or the only one. After the last brand, even if it failed, completes the views over all brands. */
async function migrateInTurn(context: Context, asked: Asked): Promise<Report> {
  const { brand, isLast, environment } = context;
  try {
    return await migrate(context, asked);
  } finally {
    if (brand !== undefined && isLast) await completeUnion(readDeployment(environment).warehouseDatabaseUrl, brand);
  }
}

async function migrate(context: Context, asked: Asked): Promise<Report> {
  // A recount does not need shop and service. If they are not configured, the schemas stay as they are.
  const isOnlyRebuild = asked.length === 1 && asked[0]?.[0] === 'rebuild';
  const config = isOnlyRebuild ? context.warehouseConfig() : context.config();
  const { warehouseDatabaseUrl: url, brand } = config;
  // No timeout: an index of a large table may take hours.
  const opened = { url, connections: 2, silenceMs: 0 };
  await using warehouse = await openWarehouse({ ...opened, brand });
  await using unbranded = await openWarehouse(opened);
  const migrated = isWhole(config) ? await migrateSchemas(warehouse, unbranded.db, config) : undefined;
  if (!migrated) await requireMigrated(warehouse);
  const { applied = [], biReader = true } = migrated ?? {};
  const done = migrated && applied.length === 0 ? ['Up to date.'] : applied.map((name) => `applied ${name}`);
  const at: At = { warehouse, unbranded: unbranded.db, config, signal: context.signal };
  for (const [, { act }, value] of asked) done.push(await act(at, String(value)));
  const text = [...done, ...(biReader ? [] : [withoutReader(brand)])].join('\n');
  const json = Object.fromEntries(asked.map(([name, , value]) => [name === 'rebuild' ? 'rebuilt' : name, value]));
  return { text, json: { applied, biReader, ...json } };
}

/** The file of the brand must exist. */
async function asBrand(context: Context, name: string): Promise<Report> {
  const brand = context.brands().find((one) => one.name === name);
  if (!brand) throw new UsageError(`BRANDS_DIR has no file ${name}.env: make it first`);
  await moveWarehouseTo(brand, name);
  const text = `The warehouse is that of the brand ${name} now. Start serve and worker again, and run: review-sync migrate`;
  return { text, json: { brand: name } };
}

async function drop(context: Context, name: string, isApplied: boolean): Promise<Report> {
  const { contents, isRoleKept } = await dropUnusedBrand(readDeployment(context.environment), name, isApplied);
  const counts =
    `${counted(contents.reviews, 'review')}, ${counted(contents.orders, 'order')} with the ids that the service gave them, ` +
    `${counted(contents.deadLetters, 'dead letter')}, ${counted(contents.runs, 'run')}`;
  const what = `the schemas sync_${name}, warehouse_${name} and bi_${name} (${counts}), what others have built on them, and the role bi_reader_${name}`;
  const role = isRoleKept ? ` The role bi_reader_${name} stays: another database or a login uses it.` : '';
  const text = isApplied ? `Dropped: ${what}.${role}` : `Would be dropped (nothing was changed; add --apply): ${what}.`;
  return { text, json: { applied: isApplied, ...contents } };
}
