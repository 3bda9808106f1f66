import { expect, test } from 'vitest';
import { anOrder, linksOf, openClient, runService, waitingForLocks } from './service.ts';

test('a category’s depth counts from the top, its parent named by id or code', async () => {
  const { call } = await runService();
  const post = async (json: object) => (await call('POST', '/v1/categories', { json })).body;
  const top = await post({ code: 'top', name: 'Top' });
  expect(top).toMatchObject({ code: 'top', name: 'Top', depth: 1, parent_category_id: null, status: 'visible' });
  const middle = await post({ code: 'middle', name: 'Middle', parent_category_id: String(top.id) });
  const low = await post({ code: 'low', name: 'Low', parent_category_code: 'middle', status: 'hidden' });
  expect([middle.depth, middle.parent_category_id]).toEqual([2, top.id]);
  expect([low.depth, low.parent_category_id, low.status]).toEqual([3, middle.id, 'hidden']);
  expect((await call('GET', `/v1/categories/${low.id}`)).body).toEqual(low);
  expect((await call('GET', '/v1/categories', { query: { code: 'low' } })).body).toEqual(low);
});

test('a parent that does not exist, or lies below, is refused', async () => {
  const { call } = await runService();
  const post = (json: object) => call('POST', '/v1/categories', { json });
  const top = (await post({ code: 'top', name: 'Top' })).body;
  const low = (await post({ code: 'low', name: 'Low', parent_category_code: 'top' })).body;
  const unknown = await post({ code: 'x', name: 'X', parent_category_code: 'none' });
  expect([unknown.status, unknown.body.error]).toEqual([
    422,
    'parent_category_code: found none, expected a category that exists',
  ]);
  expect((await call('PATCH', `/v1/categories/${top.id}`, { json: { parent_category_id: low.id } })).status).toBe(422);
  expect((await post({ code: 'top', name: 'Top', parent_category_code: 'top' })).status).toBe(422);
});

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

test('a category is updated by POST with its code and by PATCH or PUT, and deleted once', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/categories', { json: { code: 'c', name: 'One' } })).body;
  const again = await call('POST', '/v1/categories', { form: 'code=c&name=Two' });
  expect([again.status, again.headers.get('location'), again.body.id]).toEqual([201, '/v1/categories', id]);
  const byCode = await call('PATCH', '/v1/categories', { json: { code: 'c', status: 'hidden' } });
  expect([byCode.status, byCode.headers.get('location')]).toEqual([204, `/v1/categories/${id}`]);
  expect((await call('PUT', `/v1/categories/${id}`, { query: { name: 'Three' } })).status).toBe(204);
  expect(
    (await call('PATCH', `/v1/categories/${id}`, { json: { name: '', status: 'gone' } })).body.errors,
  ).toHaveLength(2);
  expect((await call('GET', `/v1/categories/${id}`)).body).toMatchObject({ name: 'Three', status: 'hidden' });
  expect((await call('DELETE', '/v1/categories', { query: { code: '' } })).status).toBe(422);
  expect((await call('DELETE', '/v1/categories', { query: { code: 'c' } })).status).toBe(204);
  expect((await call('DELETE', `/v1/categories/${id}`)).status).toBe(404);
});

test('a member grade is created, listed by pages, changed and deleted', async () => {
  const { call } = await runService();
  const made = await call('POST', '/v1/user_grades', { json: { name: 'Gold', icon_url: 'https://example.com/g.png' } });
  expect([made.status, made.headers.get('location')]).toEqual([201, '/v1/user_grades']);
  expect(Object.keys(made.body).sort()).toEqual(['created_at', 'icon_url', 'id', 'name', 'updated_at']);
  for (const name of ['Silver', 'Bronze']) await call('POST', '/v1/user_grades', { json: { name } });
  const second = await call('GET', '/v1/user_grades', { query: { limit: 2, page: 2 } });
  expect(second.body).toMatchObject([{ name: 'Bronze', icon_url: null }]);
  expect(new URL(linksOf(second).last ?? '').searchParams.get('page')).toBe('2');
  const path = `/v1/user_grades/${made.body.id}`;
  const changed = await call('PATCH', path, { json: { name: 'Platinum' } });
  expect([changed.status, changed.headers.get('location'), changed.body]).toEqual([204, path, undefined]);
  expect((await call('GET', path)).body).toMatchObject({ name: 'Platinum', icon_url: 'https://example.com/g.png' });
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', path)).status).toBe(404);
});

test('an order outlives its member grade', async () => {
  const { call } = await runService();
  const grade = (await call('POST', '/v1/user_grades', { json: { name: 'Gold' } })).body;
  await call('POST', '/v1/orders', { json: { ...anOrder, user_grade_id: grade.id } });
  expect((await call('DELETE', `/v1/user_grades/${grade.id}`)).status).toBe(204);
  expect((await call('GET', '/v1/orders', { query: { code: 'A-1' } })).status).toBe(200);
});
