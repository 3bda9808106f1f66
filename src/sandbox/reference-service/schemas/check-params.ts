import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { formats } from './formats.ts';
import type { Operation } from './operation.ts';
import { expectedKeyword, type Schema } from './params.ts';

/** What is wrong with the parameters of a request, a sentence each; none if nothing is. */
export type ParamsCheck = (params: Readonly<Record<string, unknown>>) => string[];

/** A query or a form holds only texts: they are read as the type that the schema asks for. */
const ajv = new Ajv2020({
  allErrors: true,
  coerceTypes: true,
  allowUnionTypes: true,
  strictTypes: false,
  // 1e999 is read as infinite, which is too much for any maximum. Otherwise it would count as no number at all.
  strictNumbers: false,
  keywords: [expectedKeyword],
  formats,
});

export function paramsCheck({ params, required = [] }: Operation): ParamsCheck {
  const root: Schema = { type: 'object', properties: params, required };
  const validate: ValidateFunction = ajv.compile(root);
  return (given) => {
    const copy = asForm(given, root) as Record<string, unknown>;
    if (validate(copy)) return [];
    return [...new Set((validate.errors ?? []).map((error) => faultOf(error, root, given)))];
  };
}

/**
 * A copy, because reading texts as numbers must not change what the resource sees. Empty is the same as null. JSON can
 * say no more than a form can: otherwise true would pass for the number 1, and null for 0.
 */
function asForm(value: unknown, schema: Schema): unknown {
  if (typeof value === 'boolean') return String(value);
  if (value === null || value === '') return [schema.type].flat().includes('null') ? null : '';
  if (Array.isArray(value)) return value.map((item) => asForm(item, (schema.items as Schema | undefined) ?? {}));
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, asForm(field, fieldOf(schema, name))]));
}

/** `name: found …, expected …` about the parameter, or about a field if the parameter is a list of objects. */
function faultOf(error: ErrorObject, root: Schema, given: Readonly<Record<string, unknown>>): string {
  const missing = error.keyword === 'required' ? [String(error.params.missingProperty)] : [];
  const [name = '', index, field] = [...error.instancePath.split('/').slice(1), ...missing];
  const param = fieldOf(root, name);
  const items = param.items as Schema | undefined;
  if (index !== undefined && field !== undefined && items?.properties) {
    const item = (given[name] as Record<string, unknown>[])[Number(index)];
    return fault(`${name}[${index}].${field}`, item?.[field], fieldOf(items, field));
  }
  return fault(name, given[name], index === undefined ? param : { ...param, ...items });
}

function fault(name: string, value: unknown, schema: Schema): string {
  const found = (JSON.stringify(value) ?? 'nothing').slice(0, 100);
  const isMissing = value === undefined || value === null || value === '';
  return `${name}: found ${found}, expected ${isMissing ? 'a value' : (schema[expectedKeyword] ?? 'an object')}`;
}

const fieldOf = ({ properties = {} }: Schema, name: string): Schema =>
  Object.hasOwn(properties as object, name) ? ((properties as Record<string, Schema>)[name] ?? {}) : {};
