import { createMysqlDatabase } from '../harness/mariadb.ts';
import { rescanOrdersOnce } from '../harness/sync-orders.ts';
import { openPresetWorld, type PresetOptions, type PresetWorld } from './preset-world.ts';

/**
 * A preset's world on a new MariaDB database. Statements run as these shops run them: in UTC and without strict mode.
 */
export async function openMariadbShop(
  name: string,
  options: Omit<PresetOptions, 'database'>,
): Promise<PresetWorld & { absentOrders(): Promise<string[]> }> {
  const database = await createMysqlDatabase();
  const run = (sql: string) => database.query(`set sql_mode = ''; set time_zone = '+00:00'; ${sql}`);
  const preset = await openPresetWorld(name, { ...options, database: { url: database.url, run, drop: database.drop } });
  return {
    ...preset,
    /** Runs a rescan, and gives the orders that were pushed before and that the shop does not show any more. */
    async absentOrders() {
      await rescanOrdersOnce(await preset.world.openApp(), 4);
      const rows = await preset.world.warehouse<{ code: string }>(
        'select order_code as code from sync.order_links where absent_since is not null order by 1',
      );
      return rows.map(({ code }) => code);
    },
  };
}
