import { expect, test } from 'vitest';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import { workerOf } from '../../src/cli/ui/run-to-end.ts';
import { openOrderWorld } from '../harness/order-world.ts';
import { until } from '../harness/world.ts';

test('a worker that is stopped while the shop takes long for a statement hands the step back, and asks the shop nothing more', async () => {
  await using world = await openOrderWorld();
  await world.shop(`insert into o (code) values ('O1');
    create table slow (seconds integer); insert into slow values (0);
    create function pause() returns boolean language plpgsql as
      $$ begin perform pg_sleep(seconds) from slow; return true; end $$;
    alter table o rename to o_plain; create view o as select * from o_plain where pause()`);
  let said = '';
  const app = await openApp(readConfig(world.environment), {
    log: openLog('info', (line) => {
      said += line;
    }),
  });
  await using opened = new AsyncDisposableStack();
  opened.defer(() => app.close());
  await world.shop('update slow set seconds = 25');
  const running = await workerOf(app, ['runs', 'steps']);
  await app.queues.enqueue(syncOrders, {});
  const asleep = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  await until(async () => (await world.shop(asleep)).length > 0);
  await running.close(0);
  const counts = await app.queues.counts();
  await opened.disposeAsync();
  expect(said).not.toMatch(/did not take all jobs back|Cannot use a pool/);
  expect(counts.runs).toMatchObject({ active: 0, waiting: 1 });
});
