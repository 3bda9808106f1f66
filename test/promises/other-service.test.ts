import { expect } from 'vitest';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase, query } from '../harness/database.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import { order } from '../harness/shop-orders.ts';

const commands = [
  ['sync', 'orders'],
  ['sync', 'reviews'],
  ['backfill', 'orders'],
  ['verify', 'orders', '--repair'],
];

async function pushTwo(world: OrderWorld): Promise<void> {
  await world.place(order('A'), order('B'));
  expect(await runCli(['sync', 'orders'], world.environment)).toMatchObject({ status: 0 });
}

test('a warehouse that was used with one service does not count its orders as pushed to another one', async ({
  world,
}) => {
  await pushTwo(world);
  const databaseUrl = await createDatabase('service');
  // It has other orders with the same ids.
  await query(
    databaseUrl,
    `insert into reference_service.orders (code, total_price, created_at, updated_at)
    select 'other ' || n, 1, now(), now() from generate_series(1, 5) n`,
  );
  const other = await startReferenceService({ databaseUrl });
  try {
    const environment = { ...world.environment, REVIEW_API_BASE_URL: other.url };
    for (const command of commands) {
      const end = await runCli(command, environment);
      expect(end.status).toBe(1);
      expect(end.stderr).toContain('belongs to another review service');
      expect(end.stderr).toContain('npx review-sync migrate');
    }
    expect((await runCli(['doctor'], environment)).stdout).toContain('belongs to another review service');
  } finally {
    await other.close();
  }
  expect(await runCli(['sync', 'orders'], world.environment)).toMatchObject({ status: 0 });
});

test('a warehouse of reviews alone belongs to the service that has them', async ({ world }) => {
  const review = 'insert into reference_service.reviews (created_at, updated_at) values ($1, $1)';
  await world.atService(review, ['2026-01-02T10:00:00Z']);
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  // Until now through a proxy at another port.
  const moved = { ...world.environment, REVIEW_API_BASE_URL: world.serviceUrl };
  expect(await runCli(['sync', 'reviews'], moved)).toMatchObject({ status: 0 });

  const databaseUrl = await createDatabase('service');
  const other = await startReferenceService({ databaseUrl });
  try {
    await query(databaseUrl, review, ['2026-01-03T10:00:00Z']);
    const end = await runCli(['sync', 'reviews'], { ...world.environment, REVIEW_API_BASE_URL: other.url });
    expect(end.stderr).toContain('belongs to another review service');
  } finally {
    await other.close();
  }
});

test('a service that moved to another address is the same one', async ({ world }) => {
  await pushTwo(world);
  // Until now through a proxy at another port.
  const environment = { ...world.environment, REVIEW_API_BASE_URL: world.serviceUrl };
  expect(await runCli(['sync', 'orders'], environment)).toMatchObject({ status: 0 });
});
