import type { Answer, Operation } from './operation.ts';
import { operations } from './operations.ts';
import type { Schema } from './params.ts';
import { shapes } from './shapes.ts';

type Json = Record<string, unknown>;

/** The interface as OpenAPI 3.1. This service checks requests by it, and its tests compare its answers with it. */
export function openApiDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Shop Integration API',
      version: '1',
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Orders, categories, user grades, reviews and webhooks, as the reference service of review-sync implements them. Where the spec says "not shown", src/sandbox/reference-service/README.md lists what is chosen here.',
    },
    servers: [{ url: 'http://127.0.0.1:4010', description: 'review-sync reference-service' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    security: [{ accessToken: [] }, { bearer: [] }],
    paths,
    webhooks: webhooks(),
    components: {
      schemas: shapes,
      securitySchemes: {
        accessToken: { type: 'apiKey', in: 'query', name: 'access_token', description: 'Or a field of the form body.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'Not in the spec; taken by this service.' },
      },
      responses: { Failure: { description: 'A failure, with its reasons.', content: jsonOf(shapeRef('Error')) } },
    },
  };
}

const shapeRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const jsonOf = (schema: Schema) => ({ 'application/json': { schema } });

function operationObject(operation: Operation): Json {
  const { id, tag, summary, method, params, required = [], isOpen } = operation;
  const inPath = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  }));
  // "passing fields as query parameters" (docs/interface.md, "Update by PUT")
  const hasBody = method === 'POST' || method === 'PATCH';
  const inQuery = hasBody ? [] : queryParameters(params, required);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(isOpen && { security: [] }),
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(hasBody && Object.keys(params).length > 0 && { requestBody: requestBody(operation) }),
    responses: responses(operation),
  };
}

function queryParameters(params: Operation['params'], required: readonly string[]): Json[] {
  return Object.entries(formFields(params)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description: schema.description,
    schema,
  }));
}

function requestBody({ params, required = [], isOpen }: Operation): Json {
  const object = (properties: Json) => ({ type: 'object', properties, ...(required.length > 0 && { required }) });
  const token = { access_token: { type: 'string', description: 'Where it is not in the query.' } };
  return {
    required: required.length > 0,
    content: {
      'application/json': { schema: object(params) },
      'application/x-www-form-urlencoded': { schema: object({ ...formFields(params), ...(!isOpen && token) }) },
    },
  };
}

/** The names in a form or a query: lists as repeated `name[]`, lists of objects as `name[][field]`. */
function formFields(params: Operation['params']): Record<string, Schema> {
  return Object.fromEntries(Object.entries(params).flatMap(([name, schema]) => formField(name, schema)));
}

function formField(name: string, schema: Schema): [string, Schema][] {
  const { description, maxItems } = schema;
  const listed = schema.anyOf ? (schema.anyOf as Schema[]).find(({ type }) => type === 'array') : schema;
  const items = listed?.items as Schema | undefined;
  if (!items) return [[name, schema]];
  const repeated = (of: unknown): Schema => ({
    type: 'array',
    items: of,
    description,
    ...(maxItems !== undefined && { maxItems }),
  });
  if (!items.properties) return [[`${name}[]`, repeated(items)]];
  return Object.entries(items.properties).map(([field, of]) => [`${name}[][${field}]`, repeated(of)]);
}

function responses({ answers }: Operation): Json {
  const own = Object.entries(answers).map(([status, answer]) => [status, responseObject(answer)]);
  return { ...Object.fromEntries(own), default: { $ref: '#/components/responses/Failure' } };
}

function responseObject({ description, schema, headers = [] }: Answer): Json {
  const meaning = { Link: 'Pages: rel last, and next where there is one.', Location: 'Address of what was written.' };
  return {
    description,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(
        headers.map((name) => [name, { description: meaning[name], schema: { type: 'string' } }]),
      ),
    }),
    ...(schema && { content: jsonOf(schema) }),
  };
}

/** The three events (docs/interface.md, "Events"): one object per brand. */
function webhooks(): Json {
  const event = (summary: string, list: string, item: string) => ({
    post: {
      summary,
      security: [],
      requestBody: {
        required: true,
        content: jsonOf({
          type: 'array',
          items: {
            type: 'object',
            properties: { brand_id: { type: 'integer' }, [list]: { type: 'array', items: shapeRef(item) } },
            required: ['brand_id', list],
          },
        }),
      },
      responses: { '2XX': { description: 'Received; anything else is sent again.' } },
    },
  });
  return {
    productReviewSummary: event("A product's review count and rating changed", 'products', 'ProductSummary'),
    reviewChanged: event('A review was created or updated', 'reviews', 'Change'),
    productChanged: event('Product data changed', 'products', 'Change'),
  };
}
