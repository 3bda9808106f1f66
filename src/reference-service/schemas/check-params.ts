import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { formats } from './formats.ts';
import type { Operation } from './operation.ts';
import { expectedKeyword, type Schema } from './params.ts';

/** What is wrong with the parameters of a request, a sentence each; none where nothing is. */
export type ParamsCheck = (params: Readonly<Record<string, unknown>>) => string[];

/** A query or a form holds texts alone: they are read as what the schema asks for. */
const ajv = new Ajv2020({
  allErrors: true,
  coerceTypes: true,
  allowUnionTypes: true,
  strictTypes: false,
  keywords: [expectedKeyword],
  formats,
});

export function paramsCheck({ params, required = [] }: Operation): ParamsCheck {
  const root: Schema = { type: 'object', properties: params, required };
  const validate: ValidateFunction = ajv.compile(root);
  return (given) => {
    // A copy: reading texts as numbers must not change what the resource sees. Empty is the same as null.
    const copy = structuredClone(given) as Record<string, unknown>;
    for (const [name, value] of Object.entries(copy)) if (value === '') copy[name] = null;
    if (validate(copy)) return [];
    return [...new Set((validate.errors ?? []).map((error) => faultOf(error, root, given)))];
  };
}

/** `name: found …, expected …`, of the parameter; of a field, where the parameter is a list of objects. */
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

const fieldOf = (schema: Schema, name: string): Schema => (schema.properties as Record<string, Schema>)[name] ?? {};
