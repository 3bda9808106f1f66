import { expect, test } from 'vitest';
import { query } from './harness/database.ts';
import { conform, differing, seededService, untold } from './sandbox/reference-service/conform.ts';

const onlyInV2 = 'options: not usable in shops using the v2 additional-information model';

const countRows = (databaseUrl: string) =>
  query(
    databaseUrl,
    `select (select count(*)::integer from reference_service.orders) as orders,
       (select count(*)::integer from reference_service.sub_orders) as sub_orders,
       (select count(*)::integer from reference_service.categories) as categories,
       (select count(*)::integer from reference_service.user_grades) as user_grades,
       (select count(*)::integer from reference_service.reviews) as reviews`,
  );

test('the reference service does all that the spec says, and is left as it was', async () => {
  const elsewhere = { timeZone: 'America/Sao_Paulo', currency: 'BRL', lastPageLink: 'real' } as const;
  const { url, databaseUrl, call } = await seededService({ ...elsewhere, partner: true });
  const [foreign] = await query(databaseUrl, 'select id from reference_service.reviews');
  const { results, left } = await conform(url);
  expect(differing(results)).toEqual([]);
  expect(untold(results)).toEqual([onlyInV2]);
  expect(results.length).toBeGreaterThan(470);
  expect(left).toEqual([]);
  expect((await call('DELETE', `/v1/reviews/${foreign?.id}`)).status, 'of a review that another made').toBe(403);
  expect(await countRows(databaseUrl)).toEqual([
    { orders: 0, sub_orders: 0, categories: 0, user_grades: 0, reviews: 1 },
  ]);
});

test('with the defaults and the v2 form of the options, nothing differs', async () => {
  const { url } = await seededService({ reviewOptionsForm: 'v2' });
  const { results } = await conform(url, ['categories', 'review-reading', 'review-writes']);
  expect(differing(results)).toEqual([]);
  expect(untold(results)).not.toEqual(expect.arrayContaining([expect.stringMatching(/v2/)]));
  expect(results.find(({ says }) => says === onlyInV2)?.outcome).toBe('holds');
});
