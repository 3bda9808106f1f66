import { existsSync } from 'node:fs';
import { Option } from 'commander';
import { configOf, placesOf } from '../../app/brands.ts';
import { type Config, isWhole, readDeployment } from '../../app/config.ts';
import { requireMigrated } from '../../app/require-migrated.ts';
import { declareSameService, ownedBy, serviceOf } from '../../app/require-same-service.ts';
import { declareSameOrders } from '../../app/require-same-shop.ts';
import { counted } from '../../base/counts.ts';
import { describeWithHint, UsageError } from '../../base/errors.ts';
import { migrateQueue } from '../../queue/connection.ts';
import { openQueues } from '../../queue/index.ts';
import { applySchedules } from '../../queue/schedules.ts';
import { openShop } from '../../shop/index.ts';
import {
  dropUnion,
  hasPlainSchemas,
  isInUnion,
  makeUnion,
  ownerOf,
  storedBrands,
} from '../../warehouse/bi/all-brands.ts';
import { prepareBi } from '../../warehouse/bi/bi-access.ts';
import { recountAll } from '../../warehouse/bi/recount.ts';
import { connectedService, isSameAccount, queueNames } from '../../warehouse/connected-service.ts';
import { acceptGone } from '../../warehouse/field-shapes.ts';
import { type Db, openWarehouse, type Warehouse } from '../../warehouse/index.ts';
import { compareMigrations, migrateWarehouse } from '../../warehouse/migrate.ts';
import { contentsOf, dropBrand, moveToBrand } from '../../warehouse/move-brands.ts';
import { recordSameShop } from '../../warehouse/orders/known-orders.ts';
import { promoteField } from '../../warehouse/promote-field.ts';
import type { Command, Context, Report } from '../command.ts';

const withoutReader = (brand: string | undefined) => {
  const roles = ['bi_reader', ...(brand === undefined ? [] : [`bi_reader_${brand}`])];
  const create = roles.map((role) => `create role ${role} nologin;`).join(' ');
  return `Only the owner can read the views of bi yet: the role ${roles.join(' or ')} is missing, and this user may not create it.
Ask an administrator to run: ${create} then run migrate again.`;
};

/** What an extra works with. `unbranded`: the database without the schemas of a brand. */
type At = { warehouse: Warehouse; unbranded: Db; config: Config; signal: AbortSignal };

/** Something that a person asks of `migrate` beside the schemas. Done after them; a sentence says what was done. */
type Extra = { flags: string; about: string; isAboutOneBrand?: true; act(at: At, value: string): Promise<string> };

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
      // `completeUnion` makes them again, with the column.
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
      await declareSameService(warehouse.db, api);
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

/** An option with which `migrate` does something else. */
const alone = (flags: string, description: string) =>
  new Option(flags, description).conflicts(['brand', ...Object.keys(extras)]);

export const command: Command = {
  define(commander, run) {
    for (const { flags, about } of Object.values(extras)) commander.option(flags, about);
    commander
      .addHelpText(
        'after',
        '\nSafe to run twice and from two machines at once. Run it before each new version’s worker.',
      )
      .addOption(
        alone('--as-brand <name>', 'with BRANDS_DIR: make the warehouse without brands that of this brand').conflicts([
          'dropBrand',
          'apply',
        ]),
      )
      .addOption(
        alone(
          '--drop-brand <name>',
          'say what the warehouse holds of a brand whose file is gone; with --apply drop it',
        ),
      )
      .option('--apply', 'with --drop-brand: drop it')
      .action(({ asBrand: moved, dropBrand: dropped, apply, ...options }: Options) => {
        if (typeof moved === 'string') return run((context) => asBrand(context, moved), 'all');
        if (typeof dropped === 'string') return run((context) => drop(context, dropped, apply === true), 'all');
        const asked = Object.entries(extras).filter(([name]) => options[name] !== undefined);
        const isAboutOne = asked.some(([, { isAboutOneBrand }]) => isAboutOneBrand);
        return run((context) => migrateInTurn(context, options), isAboutOne ? 'one' : 'each');
      });
  },
};

/** Migrates a brand, or the only one. After the last brand, also if it failed, the views over all brands are completed. */
async function migrateInTurn(context: Context, options: Options): Promise<Report> {
  const [migrated] = await Promise.allSettled([migrate(context, options)]);
  const isFailed = migrated.status === 'rejected';
  if (context.brand !== undefined && context.isLast) {
    await completeUnion(context).catch((error: unknown) => {
      if (!isFailed) throw error;
      context.terminal.say(describeWithHint(error));
    });
  }
  if (isFailed) throw migrated.reason;
  return migrated.value;
}

async function migrate(context: Context, options: Options): Promise<Report> {
  const asked = Object.entries(extras).filter(([name]) => options[name] !== undefined);
  const isRebuild = asked.length === 1 && options.rebuild !== undefined;
  const config = isRebuild ? context.warehouseConfig() : context.config();
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
  for (const [name, { act }] of asked) done.push(await act(at, String(options[name])));
  const text = [...done, ...(biReader ? [] : [withoutReader(brand)])].join('\n');
  const json = Object.fromEntries(asked.map(([name]) => [name === 'rebuild' ? 'rebuilt' : name, options[name]]));
  return { text, json: { applied, biReader, ...json } };
}

/** Brings the schemas and the queue up to date. If a migration is pending, drops the views of `bi` over all brands first. */
async function migrateSchemas(warehouse: Warehouse, unbranded: Db, config: Config) {
  const { db, brand } = warehouse;
  await requireOwnService(unbranded, config);
  if (brand !== undefined && (await compareMigrations(db)).pending.length > 0) await dropUnion(unbranded);
  const applied = await migrateWarehouse(db);
  const biReader = await prepareBi(warehouse, config.api);
  await migrateQueue(config.queueUrl);
  return { applied, biReader };
}

/** Makes the views of `bi` over all brands again if they lack a brand. Called once, after the last brand. */
async function completeUnion({ environment, brand, terminal }: Context): Promise<void> {
  const { warehouseDatabaseUrl: url } = readDeployment(environment);
  await using unbranded = await openWarehouse({ url, connections: 1, silenceMs: 0 });
  const { db } = unbranded;
  const stored = await storedBrands(db);
  const like = stored.find((one) => one === brand) ?? stored[0];
  if (like === undefined) return;
  const areIn = await Promise.all(stored.map((one) => isInUnion(db, one)));
  if (areIn.every(Boolean)) return;
  // Postgres refuses to replace a view by one with its columns in another order.
  const again = () => dropUnion(db).then(() => makeUnion(db, like));
  const leftOut = await makeUnion(db, like).catch(again);
  if (leftOut.length > 0) {
    terminal.say(`Not in all views of bi over all brands, since a column has another type: ${leftOut.join(', ')}.`);
  }
}

/**
 * Refuses to make new schemas for an account that has schemas under another brand. That would be the same brand renamed:
 * all its orders would be pushed again, with the contact data of their customers.
 *
 * @throws UsageError
 */
async function requireOwnService(unbranded: Db, { brand, api }: Config): Promise<void> {
  const [isPlain, stored] = [await hasPlainSchemas(unbranded), await storedBrands(unbranded)];
  if (brand === undefined && stored.length > 0 && !isPlain) {
    throw new UsageError(`The warehouse has the brands ${stored.join(', ')}, and BRANDS_DIR is not set`, {
      hint: 'Set it. Or let WAREHOUSE_DATABASE_URL name another database.',
    });
  }
  if (brand !== undefined && isPlain) {
    throw new UsageError('The warehouse has the schemas of one shop, without brands', {
      hint: 'Make them those of a brand: review-sync migrate --as-brand NAME. Or let WAREHOUSE_DATABASE_URL name another database.',
    });
  }
  if (brand === undefined || stored.includes(brand)) return;
  const owner = await ownerOf(unbranded, serviceOf(api));
  if (owner !== undefined) throw ownedBy(owner);
}

/** Turns the warehouse without brands into the warehouse of a brand. The file of the brand must exist. */
async function asBrand(context: Context, name: string): Promise<Report> {
  const brand = context.brands().find((one) => one.name === name);
  if (!brand) throw new UsageError(`BRANDS_DIR has no file ${name}.env: make it first`);
  const config = configOf(brand);
  const opened = { url: config.warehouseDatabaseUrl, connections: 2, silenceMs: 0 };
  await using plain = await openWarehouse(opened);
  if (!(await hasPlainSchemas(plain.db))) {
    const hint = `If it is that of ${name} already, as after a lost connection, run: review-sync migrate`;
    throw new UsageError('The warehouse has no schemas without brand', { hint });
  }
  const connected = await connectedService(plain.db);
  if (connected && !isSameAccount(connected, serviceOf(config.api))) {
    throw new UsageError(
      `The warehouse belongs to another account than that of ${name}.env: its orders are at another service`,
    );
  }
  await moveToBrand(plain.db, name);
  await using warehouse = await openWarehouse({ ...opened, brand: name });
  await prepareBi(warehouse, config.api);
  await makeUnion(plain.db, name);
  const text = `The warehouse is that of the brand ${name} now. Start serve and worker again, and run: review-sync migrate`;
  return { text, json: { brand: name } };
}

async function drop(context: Context, name: string, isApplied: boolean): Promise<Report> {
  const { brandsDir, warehouseDatabaseUrl: url, queueUrl } = readDeployment(context.environment);
  if (brandsDir === undefined) throw new UsageError('BRANDS_DIR is not set: nothing says which brands are in use');
  if (existsSync(placesOf(brandsDir, name).envFile)) {
    throw new UsageError(`${placesOf(brandsDir, name).envFile} is there: the brand is in use`, {
      hint: 'Remove the file first; a worker and serve give the brand up within ten seconds.',
    });
  }
  await using plain = await openWarehouse({ url, connections: 2, silenceMs: 0 });
  const stored = await storedBrands(plain.db);
  if (!stored.includes(name))
    throw new UsageError(`The warehouse has no brand ${name}, but: ${stored.join(', ') || 'none'}`);
  const contents = await contentsOf(plain.db, name);
  const counts =
    `${counted(contents.reviews, 'review')}, ${counted(contents.orders, 'order')} with the ids that the service gave them, ` +
    `${counted(contents.deadLetters, 'dead letter')}, ${counted(contents.runs, 'run')}`;
  const what = `the schemas sync_${name}, warehouse_${name} and bi_${name} (${counts}), what others have built on them, and the role bi_reader_${name}`;
  if (!isApplied) {
    return {
      text: `Would be dropped (nothing was changed; add --apply): ${what}.`,
      json: { applied: false, ...contents },
    };
  }
  await using warehouse = await openWarehouse({ url, connections: 1, brand: name });
  await using queues = await openQueues(queueUrl, await queueNames(warehouse.db, { clientId: '' }, name));
  await applySchedules(queues, []);
  const isRoleGone = await dropBrand(plain.db, name);
  const role = isRoleGone ? '' : ` The role bi_reader_${name} stays: another database or a login uses it.`;
  return { text: `Dropped: ${what}.${role}`, json: { applied: true, ...contents } };
}
