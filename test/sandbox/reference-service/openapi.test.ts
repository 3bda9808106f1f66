import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../src/sandbox/reference-service/schemas/openapi.ts';
import { query } from '../../harness/database.ts';
import { aReview, runService } from './service.ts';
import { startReceiver } from './webhook-receiver.ts';

const committed = join(import.meta.dirname, '../../../docs/openapi.json');

test('docs/openapi.json is what the service checks by; npm run openapi writes it anew', async () => {
  expect(JSON.parse(await readFile(committed, 'utf8'))).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
});

test('a stranger’s validator accepts the document as OpenAPI 3.1', async () => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(await readFile(committed, 'utf8')))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('the service hands the document out to anybody', async () => {
  const response = await fetch(`${(await runService()).url}/openapi.json`);
  expect([response.status, await response.json()]).toEqual([200, JSON.parse(JSON.stringify(openApiDocument()))]);
});

test('an answer that its schema does not allow is told, where answers are checked', async () => {
  const { call, databaseUrl } = await runService();
  const { body: review } = await call('POST', '/v1/reviews', aReview);
  await query(databaseUrl, `update reference_service.reviews set videos = '[{"sd_url": 5}]'`);
  const { status, body } = await call('GET', `/v1/reviews/${review.id}`);
  expect(status).toBe(500);
  expect(body.error).toContain('/video_urls/0 must be string');
});

test('each webhook is one of the three that the document names', async () => {
  const receiver = await startReceiver();
  const { call, service } = await runService({ receivers: [receiver.url] });
  await call('POST', '/v1/reviews', aReview);
  await service.webhooksIdle();
  const document = JSON.parse(await readFile(committed, 'utf8'));
  const names = Object.keys(document.webhooks);
  const kindsOf = (body: unknown) =>
    names.filter((name) => {
      const { schema } = document.webhooks[name].post.requestBody.content['application/json'];
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      return ajv.validate({ ...schema, components: document.components }, body);
    });
  const kinds = receiver.received.flatMap(({ body }) => kindsOf(body));
  expect(kinds.sort()).toEqual(names.sort());
});
