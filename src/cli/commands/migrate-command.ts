import { declareSameService } from '../../app/require-same-service.ts';
import { migrateQueue } from '../../queue/connection.ts';
import { prepareBi } from '../../warehouse/bi/bi-access.ts';
import { recountAll } from '../../warehouse/bi/recount.ts';
import { openWarehouse } from '../../warehouse/index.ts';
import { migrateWarehouse } from '../../warehouse/migrate.ts';
import type { Command } from '../command.ts';

const withoutReader = `Only the owner can read the views of bi yet: the role bi_reader is missing, and this user may not create it.
Ask an administrator to run: create role bi_reader nologin; then run migrate again.`;

export const command: Command = {
  define(commander, run) {
    commander
      .option('--rebuild', 'count again what the views of bi are answered from; minutes for ten million reviews')
      .option(
        '--same-service',
        'the service of REVIEW_API_BASE_URL is the one that this warehouse was used with, ' +
          'although it knows none of its records',
      )
      .addHelpText(
        'after',
        '\nSafe to run twice and from two machines at once. Run it before each new version’s worker.',
      )
      .action(({ rebuild = false, sameService = false }: { rebuild?: boolean; sameService?: boolean }) =>
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
          if (sameService) {
            await declareSameService(warehouse.db, config.api);
            done.push(
              `Links, cursors and reviews belong to the service of REVIEW_API_BASE_URL, ${config.api.baseUrl}.`,
            );
          }
          const text = [...done, ...(biReader ? [] : [withoutReader])].join('\n');
          return {
            text,
            json: { applied, biReader, ...(rebuild && { rebuilt: true }), ...(sameService && { sameService }) },
          };
        }),
      );
  },
};
