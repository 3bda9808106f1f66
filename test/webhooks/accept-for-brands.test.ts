import { expect, test } from 'vitest';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { acceptForBrands } from '../../src/webhooks/accept-for-brands.ts';
import { createDatabase } from '../harness/database.ts';

test('a file that claims the brand_id of another brand stops none of its webhooks', async () => {
  await using warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 1 });
  const accepted: unknown[] = [];
  const accept = async (body: unknown) => {
    accepted.push(body);
    return { status: 200 } as const;
  };
  const part = { brand_id: 1, reviews: [{ id: 1 }] };
  const receivers = [{ db: warehouse.db, brandIds: [1], accept }];
  expect(await acceptForBrands(receivers, [1], [part])).toEqual({ status: 200 });
  expect(await acceptForBrands(receivers, [2], [part, { ...part, brand_id: 2 }])).toMatchObject({ status: 503 });
  expect(accepted).toEqual([[part], [part]]);
});
