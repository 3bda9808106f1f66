import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Exchange } from '../harness/proxy.ts';

type Schema = { readonly [keyword: string]: unknown };
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type Media = { readonly [type: string]: { schema: Schema } };
type Response = { $ref?: string; headers?: Record<string, unknown>; content?: Media };
export type OperationObject = {
  operationId: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Media };
  responses: { readonly [status: string]: Response };
};
export type Document = {
  paths: { readonly [path: string]: { readonly [method: string]: OperationObject } };
  components: { responses: { readonly [name: string]: Response }; [kind: string]: unknown };
};

/** What an exchange is in the document, which of its parameters were sent, and where the two part. */
export type Reading = { operation: string | undefined; sent: string[]; faults: string[] };

const formats = {
  // RFC 3339, with its offset: what a stranger takes `date-time` to be.
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  'date-time-local': /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d$/,
  date: /^\d{4}-\d\d-\d\d$/,
};

/** Holds exchanges against an OpenAPI document, by the document alone. */
export function openApiReader(document: Document): (exchange: Exchange) => Reading {
  const common = { strict: false, allErrors: true, formats };
  const [exact, ofText] = [new Ajv2020(common), new Ajv2020({ ...common, coerceTypes: true })];
  const compiled = new Map<Schema, ValidateFunction>();
  const check = (ajv: Ajv2020, schema: Schema, value: unknown, what: string): string[] => {
    const validate = compiled.get(schema) ?? ajv.compile({ ...schema, components: document.components });
    compiled.set(schema, validate);
    // In an object, as reading a text as a number replaces it there.
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}${instancePath} ${message}`);
  };

  return (exchange) => {
    const { pathname, searchParams } = new URL(exchange.path, 'http://service');
    const found = find(document, exchange.method, pathname);
    if (!found)
      return { operation: undefined, sent: [], faults: [`${exchange.method} ${pathname} is not in the document`] };
    const form = new URLSearchParams(exchange.requestBody);
    const { parameters = [], requestBody, responses } = found;
    const query = parameters.filter((parameter) => parameter.in === 'query');
    const inQuery: Schema = objectOf(
      Object.fromEntries(query.map(({ name, schema }) => [name, schema])),
      query.filter(({ required }) => required).map(({ name }) => name),
    );
    const type = exchange.type?.split(';')[0];
    const inForm = requestBody?.content[type ?? '']?.schema ?? objectOf({}, []);
    searchParams.delete('access_token');
    const named = responses[exchange.status] ?? responses.default;
    const answer = named?.$ref ? document.components.responses[named.$ref.split('/').at(-1) ?? ''] : named;
    const faults = [
      ...(exchange.requestBody !== '' && type !== 'application/x-www-form-urlencoded'
        ? [`a body of type ${type}`]
        : []),
      ...check(ofText, closed(inQuery), valuesOf(searchParams, inQuery), 'query'),
      ...check(ofText, closed(inForm), valuesOf(form, inForm), 'form'),
      ...(answer
        ? answerFaults(answer, exchange, (schema, body) => check(exact, schema, body, 'answer'))
        : ['no such answer']),
    ];
    const sent = [...searchParams.keys(), ...form.keys()].filter((name) => name !== 'access_token');
    return { operation: found.operationId, sent, faults: faults.map((fault) => `${found.operationId}: ${fault}`) };
  };
}

function find(document: Document, method: string, pathname: string): OperationObject | undefined {
  for (const [path, operations] of Object.entries(document.paths)) {
    const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[1-9]\\d*')}$`);
    if (pattern.test(pathname)) return operations[method.toLowerCase()];
  }
  return undefined;
}

const objectOf = (properties: Record<string, Schema>, required: string[]): Schema => ({
  type: 'object',
  properties,
  required,
});

/** Names that the document does not know are faults. */
const closed = (schema: Schema): Schema => ({ ...schema, additionalProperties: false });

/** Names as they were sent; lists where the schema has one; empty is null where the schema has that. */
function valuesOf(sent: URLSearchParams, { properties }: Schema): Record<string, unknown> {
  const schemas = properties as Record<string, Schema>;
  const names = [...new Set(sent.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const { type, anyOf } = schemas[name] ?? {};
      if (type === 'array') return [name, sent.getAll(name)];
      const mayBeNull = JSON.stringify(type ?? anyOf ?? '').includes('"null"');
      return [name, sent.get(name) === '' && mayBeNull ? null : sent.get(name)];
    }),
  );
}

function answerFaults(
  answer: Response,
  exchange: Exchange,
  check: (schema: Schema, body: unknown) => string[],
): string[] {
  const schema = answer.content?.['application/json']?.schema;
  if (!schema)
    return [...(exchange.body === '' ? [] : ['answer has a body']), ...missingHeaders(answer, exchange, false)];
  const type = exchange.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) return [`answer is of type ${type}`];
  const body: unknown = JSON.parse(exchange.body);
  return [...check(schema, body), ...missingHeaders(answer, exchange, Array.isArray(body))];
}

/** A record alone has no pages. */
function missingHeaders({ headers = {} }: Response, exchange: Exchange, isList: boolean): string[] {
  const missing = Object.keys(headers).filter((name) => !exchange.headers.has(name) && (isList || name !== 'Link'));
  return missing.map((name) => `answer has no ${name}`);
}
