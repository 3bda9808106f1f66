import { expect, test } from 'vitest';
import { openServiceSession, sessionState } from '../../src/warehouse/service-session.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';
import { client, json, order, tinyService } from '../review-api/tiny-service.ts';

const service = { address: 'https://reviews.example.com', client: '0123456789ab' };

test('a token is kept encrypted by the client secret, and replaced with it', async () => {
  const { warehouse, ask } = await openTestWarehouse(2);
  const kept = openServiceSession(warehouse.db, service, 'the-old-s3cret');
  await kept.alone((alone) => alone.set({ token: 'tok-5ecre7', renewAtMs: Date.now() + 60_000 }));
  const found = await kept.get();
  expect(found?.token).toBe('tok-5ecre7');
  expect(Math.abs((found?.renewAtMs ?? 0) - Date.now() - 60_000)).toBeLessThan(20_000);
  const [row] = await ask<{ token: Buffer }>('select * from sync.service_session');
  expect(row?.token.toString('latin1') + JSON.stringify(row)).not.toMatch(/5ecre7|s3cret/);

  const rotated = openServiceSession(warehouse.db, service, 'the-new-s3cret');
  expect((await rotated.get())?.token).toBeUndefined();
  await rotated.set({ token: 'tok-2', renewAtMs: Number.POSITIVE_INFINITY });
  expect(await rotated.get()).toMatchObject({ token: 'tok-2', renewAtMs: Number.POSITIVE_INFINITY });
  expect(await ask('select count(*)::integer as n from sync.service_session')).toEqual([{ n: 1 }]);

  const endless = await tinyService(
    () => json(order(1)),
    () => json({ access_token: 'tok-3', expires_in: 2 ** 63 }),
  );
  const session = openServiceSession(warehouse.db, { ...service, client: 'another' }, 'the-s3cret');
  await client(endless.url, { session }).orders.get(1);
  expect(await session.get()).toMatchObject({ token: 'tok-3', renewAtMs: Number.POSITIVE_INFINITY });
});

test('a hold leaves the token alone, and a lifted one holds nobody', async () => {
  const { warehouse } = await openTestWarehouse(2);
  const kept = openServiceSession(warehouse.db, service, 'the-s3cret');
  const hour = 3_600_000;
  await kept.set({ token: 'tok-1', refusedAtMs: [Date.now() - 2 * hour, Date.now()] });
  await kept.set({ heldUntilMs: Date.now() + hour, heldReason: 'limited' });
  const { heldUntilMs = 0, heldReason, token } = (await kept.get()) ?? {};
  expect([heldUntilMs > Date.now() + hour / 2, heldReason, token]).toEqual([true, 'limited', 'tok-1']);
  expect(await sessionState(warehouse.db, service)).toMatchObject({ heldUntil: expect.any(Date), refusedInHour: 1 });
  // A machine whose clock is ahead reads and writes moments of its own clock.
  const ahead = openServiceSession(warehouse.db, service, 'the-s3cret', () => Date.now() + hour);
  expect((await ahead.get())?.heldUntilMs).toBeGreaterThan(heldUntilMs + hour / 2);
  for (const heldUntilMs of [Date.now() - 1000, 0]) {
    await kept.set({ heldUntilMs });
    expect(await sessionState(warehouse.db, service)).toMatchObject({ heldUntil: null });
  }
  await ahead.set({ heldUntilMs: Date.now() + hour - 1000 });
  expect(await sessionState(warehouse.db, service)).toMatchObject({ heldUntil: null });
});

test('who renews does so alone: another process waits and finds the new token', async () => {
  const { warehouse } = await openTestWarehouse(3);
  const [first, second] = [1, 2].map(() => openServiceSession(warehouse.db, service, 'the-s3cret'));
  const order: string[] = [];
  const begun = Promise.withResolvers<void>();
  const renewing = first?.alone(async (alone) => {
    begun.resolve();
    order.push(`first found ${(await alone.get())?.token}`);
    await alone.set({ token: 'tok-1' });
  });
  await begun.promise;
  await second?.alone(async (alone) => void order.push(`second found ${(await alone.get())?.token}`));
  await renewing;
  expect(order).toEqual(['first found undefined', 'second found tok-1']);
});
