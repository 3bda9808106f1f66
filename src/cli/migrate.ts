import { migrateQueue } from '../queue/connection.ts';
import { openWarehouse } from '../warehouse/index.ts';
import { migrateWarehouse } from '../warehouse/migrate.ts';
import type { Command } from './command.ts';

export const migrate: Command = {
  name: 'migrate',
  summary: 'bring the warehouse schema, and the queue’s on Postgres, up to date',
  define(commander, run) {
    commander
      .option('--json', 'report as JSON')
      .addHelpText(
        'after',
        '\nSafe to run twice and from two machines at once. Run it before each new version’s worker.',
      )
      .action(() =>
        run(async (context) => {
          const config = context.config();
          const warehouse = await openWarehouse({ url: config.warehouseDatabaseUrl, connections: 2 });
          try {
            const applied = await migrateWarehouse(warehouse.db);
            await migrateQueue(config.queueUrl);
            const text = applied.length === 0 ? 'Up to date.' : applied.map((name) => `applied ${name}`).join('\n');
            return { text, json: { applied } };
          } finally {
            await warehouse.close();
          }
        }),
      );
  },
};
