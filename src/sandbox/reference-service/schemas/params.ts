/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 uses it. */
export type Schema = Readonly<Record<string, unknown>>;

export type Params = Readonly<Record<string, Schema>>;

/** What a parameter should be, in the words of an error; an extension that other tools pass over. */
export const expectedKeyword = 'x-expected';

/**
 * A parameter of a type. An empty parameter clears what is there (src/sandbox/reference-service/README.md), so null is
 * allowed in each type.
 */
function typed(type: string, description: string, expected: string, rest: Schema = {}): Schema {
  return { type: [type, 'null'], description, ...rest, [expectedKeyword]: expected };
}

export const text = (description: string): Schema => typed('string', description, 'a text');

/** At most as long as an index of Postgres takes, whatever its letters. */
const longestKey = 500;

/** A text by which records are found. */
export const key = (description: string): Schema =>
  typed('string', description, `a text of at most ${longestKey} characters`, { maxLength: longestKey });

export function integer(
  description: string,
  { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = {},
): Schema {
  return typed('integer', description, `an integer from ${minimum} to ${maximum}`, { minimum, maximum });
}

export const id = (description: string): Schema => integer(description, { minimum: 1 });

/** An id that this service may not know yet; it counts on from the highest, and numbers have an end. */
export const newId = (description: string): Schema =>
  integer(description, { minimum: 1, maximum: 999_999_999_999_999 });

/** An id that the spec types as text: parent_category_id. */
export const idText = (description: string): Schema => ({
  type: ['string', 'integer', 'null'],
  pattern: '^[1-9]\\d*$',
  minimum: 1,
  description,
  [expectedKeyword]: 'the id of a record',
});

/** The largest amount whose cents are still a whole number in JSON. */
const mostMoney = 90_071_992_547_409;

export const amount = (description: string): Schema =>
  typed('number', description, `a number from ${-mostMoney} to ${mostMoney}`, {
    minimum: -mostMoney,
    maximum: mostMoney,
  });

/** ISO 8601, with an offset to be sure; significant to the second (docs/interface.md, "What the service does", 4). */
export const moment = (description: string): Schema =>
  typed('string', description, 'an ISO 8601 date-time', { format: 'date-time' });

/** `yyyy-mm-dd hh:mm:ss` in the service's zone (docs/interface.md, "Reviews"). */
export const localMoment = (description: string): Schema =>
  typed('string', description, 'an ISO 8601 date-time', {
    format: 'date-time-local',
    examples: ['2024-01-05 09:00:00'],
  });

export const day = (description: string): Schema =>
  typed('string', description, 'a date yyyy-mm-dd', { format: 'date' });

export const choice = (description: string, allowed: readonly string[]): Schema =>
  typed('string', description, allowed.join(' or '), { enum: [...allowed, null] });

/** 1 or 0; JSON may say true or false. */
export const flag = (description: string): Schema => ({
  anyOf: [{ type: ['boolean', 'null'] }, { type: 'integer', enum: [0, 1] }],
  description,
  [expectedKeyword]: '1 or 0',
});

/** A text that may be absent and not empty, such as a code. */
export const filled = (description: string, maxLength = longestKey): Schema => ({
  type: 'string',
  pattern: '\\S',
  maxLength,
  description,
  [expectedKeyword]: `a text of 1 to ${maxLength} characters`,
});

/** The parameter, if it must have a value. */
export function demanded(schema: Schema): Schema {
  const type = Array.isArray(schema.type) ? schema.type.filter((one) => one !== 'null') : [schema.type];
  return { ...schema, type: type.length === 1 ? type[0] : type };
}

/** Texts `<key>:<value>` each; JSON may give an object, a form one text. */
export const optionPairs = (description: string): Schema => ({
  anyOf: [
    { type: 'array', items: { type: 'string', pattern: '^($|[^:]*:)' } },
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: ['string', 'null'], pattern: ':' },
  ],
  description,
  [expectedKeyword]: 'texts such as Size:L',
});

/** A list: a form repeats `name[]` for each item. */
export const list = (
  description: string,
  items: Schema,
  { maxItems, expected }: { maxItems: number; expected: string },
) => ({
  type: ['array', 'null'],
  items,
  maxItems,
  description,
  [expectedKeyword]: expected,
});
