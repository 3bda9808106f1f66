import { declareSameService } from '../../app/require-same-service.ts';
import { declareSameOrders } from '../../app/require-same-shop.ts';
import { counted } from '../../base/counts.ts';
import { UsageError } from '../../base/errors.ts';
import { migrateQueue } from '../../queue/connection.ts';
import { openShop } from '../../shop/index.ts';
import { prepareBi } from '../../warehouse/bi/bi-access.ts';
import { recountAll } from '../../warehouse/bi/recount.ts';
import { acceptGone } from '../../warehouse/field-shapes.ts';
import { openWarehouse } from '../../warehouse/index.ts';
import { migrateWarehouse } from '../../warehouse/migrate.ts';
import { recordSameShop } from '../../warehouse/orders/known-orders.ts';
import { promoteField } from '../../warehouse/promote-field.ts';
import type { Command } from '../command.ts';

const withoutReader = `Only the owner can read the views of bi yet: the role bi_reader is missing, and this user may not create it.
Ask an administrator to run: create role bi_reader nologin; then run migrate again.`;

type Options = Partial<Record<'rebuild' | 'sameService' | 'sameShop' | 'sameOrders', boolean>> & {
  acceptGone?: string;
  promote?: string;
};

export const command: Command = {
  define(commander, run) {
    commander
      .option('--rebuild', 'count again what the views of bi are answered from; minutes for ten million reviews')
      .option(
        '--same-service',
        'the service of REVIEW_API_BASE_URL is the one that this warehouse was used with, ' +
          'although it knows none of its records',
      )
      .option(
        '--same-shop',
        'the shop of SHOP_DATABASE_URL is the one that this warehouse was used with, although it shows none of the ' +
          'orders that were looked for',
      )
      .option(
        '--same-orders',
        'the orders of the shop are those that were pushed under their codes, although their dates of creation are ' +
          'others now; takes these dates over',
      )
      .option(
        '--accept-gone <field>',
        'the service shows this field of reviews no more: reviews that come from now on clear its column',
      )
      .option(
        '--promote <extra.field:type>',
        'make a column of warehouse.reviews and bi.reviews from a field of extra: text, bigint, numeric, boolean or ' +
          'jsonb; the table is rewritten',
      )
      .addHelpText(
        'after',
        '\nSafe to run twice and from two machines at once. Run it before each new version’s worker.',
      )
      .action(({ rebuild, sameService, sameShop, sameOrders, acceptGone: gone, promote }: Options) =>
        run(async (context) => {
          const config = context.config();
          // An index of a large table takes as long as it takes.
          const options = { url: config.warehouseDatabaseUrl, connections: 2, silenceMs: 0 };
          await using warehouse = await openWarehouse(options);
          const applied = await migrateWarehouse(warehouse.db);
          await migrateQueue(config.queueUrl);
          const biReader = await prepareBi(warehouse, config.api);
          const done = applied.length === 0 ? ['Up to date.'] : applied.map((name) => `applied ${name}`);
          if (rebuild) {
            await recountAll(warehouse.db);
            done.push('Reviews and deliveries were counted again for the views of bi.');
          }
          if (gone !== undefined) {
            if (!(await acceptGone(warehouse.db, gone))) {
              const hint = "See: select field from bi.field_drift where change = 'gone'";
              throw new UsageError(`No review has shown a field ${JSON.stringify(gone)}`, { hint });
            }
            done.push(`Reviews that come without ${gone} clear its column.`);
          }
          if (promote !== undefined) {
            const { column, isNew } = await promoteField(warehouse.db, promote);
            done.push(`${column} ${isNew ? 'is now' : 'was already'} a column of warehouse.reviews and bi.reviews.`);
          }
          if (sameService) {
            await declareSameService(warehouse.db, config.api);
            done.push(
              `Links, cursors and reviews belong to the service of REVIEW_API_BASE_URL, ${config.api.baseUrl}.`,
            );
          }
          if (sameShop) {
            await recordSameShop(warehouse.db);
            done.push('The orders of this warehouse belong to the shop of SHOP_DATABASE_URL.');
          }
          if (sameOrders) {
            await using shop = openShop({ ...config.shop, connections: 1, signal: context.signal });
            const changed = await declareSameOrders({ shop, db: warehouse.db });
            if (changed > 0) await recountAll(warehouse.db);
            done.push(
              `${counted(changed, 'pushed order')} had another date of creation in the shop, and took it over.`,
            );
          }
          const text = [...done, ...(biReader ? [] : [withoutReader])].join('\n');
          return {
            text,
            json: {
              applied,
              biReader,
              ...(rebuild && { rebuilt: true }),
              ...(sameService && { sameService }),
              ...(sameShop && { sameShop }),
              ...(sameOrders && { sameOrders }),
            },
          };
        }),
      );
  },
};
