import { expect, test } from 'vitest';
import { anOrder, openClient, runService, waitingForLocks } from './service.ts';

test('two categories that are put below each other at the same time do not end in a circle', async () => {
  const { call, databaseUrl } = await runService();
  const post = (code: string, parent?: string) =>
    call('POST', '/v1/categories', { json: { code, name: code, parent_category_code: parent } });
  for (const code of ['a', 'b']) await post(code);
  await using other = await openClient(databaseUrl);
  await other.query('begin');
  await other.query('select from reference_service.categories for update');
  const both = [post('a', 'b'), post('b', 'a')];
  await waitingForLocks(databaseUrl, 2);
  await other.query('commit');
  const statuses = (await Promise.all(both)).map(({ status }) => status);
  expect(statuses.sort()).toEqual([201, 422]);
  const { body } = await call('GET', '/v1/categories');
  expect(body.map(({ depth }: { depth: number }) => depth).sort()).toEqual([1, 2]);
});

test('an order outlives its member grade', async () => {
  const { call } = await runService();
  const grade = (await call('POST', '/v1/user_grades', { json: { name: 'Gold' } })).body;
  await call('POST', '/v1/orders', { json: { ...anOrder, user_grade_id: grade.id } });
  expect((await call('DELETE', `/v1/user_grades/${grade.id}`)).status).toBe(204);
  expect((await call('GET', '/v1/orders', { query: { code: 'A-1' } })).status).toBe(200);
});
