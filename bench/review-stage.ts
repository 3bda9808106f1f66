/** What the benches of reviews use: the stub in a process of its own, and a Postgres with a warehouse a measurement. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { migrateQueue } from '../src/queue/connection.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import type { StubReport, StubReviews } from './review-stub.ts';

/** @param keepIn folder of a Postgres that stays, with the safety of a real one; default: a temporary one without. */
export async function openReviewStage(keepIn?: string) {
  const database = await startEmbeddedDatabase(keepIn === undefined ? {} : { keepIn });
  const stub = fork(join(import.meta.dirname, 'review-stub.ts'));
  const [port] = (await once(stub, 'message')) as [number];
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    database,
    /** Sets what the stub holds; gives what came since the last time. */
    async hold(reviews: StubReviews): Promise<StubReport> {
      stub.send(reviews);
      const [report] = (await once(stub, 'message')) as [StubReport];
      return report;
    },
    async newWarehouse(): Promise<string> {
      const url = await database.createDatabase(`bench_${Math.random().toString(36).slice(2)}`);
      const warehouse = await openWarehouse({ url, connections: 1 });
      await migrateWarehouse(warehouse.db);
      await warehouse.close();
      await migrateQueue(url);
      return url;
    },
    /** For a process of ours that reads the stub into the warehouse. */
    environmentOf: (warehouseUrl: string) => ({
      SHOP_DATABASE_URL: warehouseUrl,
      WAREHOUSE_DATABASE_URL: warehouseUrl,
      REVIEW_API_BASE_URL: origin,
      REVIEW_API_CLIENT_ID: 'bench',
      REVIEW_API_CLIENT_SECRET: 'bench',
      REVIEW_API_TIME_ZONE: 'UTC',
    }),
    async close(): Promise<void> {
      stub.kill();
      await database.close();
    },
  };
}
