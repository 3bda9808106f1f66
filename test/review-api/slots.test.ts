import { expect, test } from 'vitest';
import { client, json, order, tinyService } from './tiny-service.ts';

test('a request that waits for a slot is sent before the work on the response that freed the slot begins', async () => {
  const service = await tinyService(({ path }) => json(order(Number(path.split('/').at(-1)))));
  const api = client(service.url, { concurrency: 1 });
  await api.authenticate();
  const before = api.stats().requests;
  const sentWhenWorkBegins = api.orders.get(1).then(() => api.stats().requests - before);
  await Promise.all([sentWhenWorkBegins, api.orders.get(2)]);
  expect(await sentWhenWorkBegins).toBe(2);
});
