import type { Params, Schema } from './params.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** One answer: its body, if it has one, and the headers that the spec promises with it. */
export type Answer = { description: string; schema?: Schema; headers?: readonly ('Link' | 'Location')[] };

/** One route: what it takes and what it answers. */
export type Operation = {
  /** Unique; the name that generated clients give it. */
  id: string;
  method: Method;
  /** With `:name` for what a path holds. */
  path: string;
  tag: string;
  summary: string;
  /** Parameters of the query, the form or the JSON body. */
  params: Params;
  required?: readonly string[];
  /** By status. Failures are the same everywhere, and are in one place, openapi.ts. */
  answers: Readonly<Record<number, Answer>>;
  /** Needs no token. */
  isOpen?: true;
};

/** The schema of that name among the document's. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

export const page = (name: string): Answer => ({
  description: 'One page.',
  schema: { type: 'array', items: ref(name) },
  headers: ['Link'],
});

export const one = (name: string): Answer => ({ description: 'The record.', schema: ref(name) });

export const created = (name: string): Answer => ({
  description: 'Created or updated.',
  schema: ref(name),
  headers: ['Location'],
});

export const updated: Answer = { description: 'Updated.', headers: ['Location'] };

export const removed: Answer = { description: 'Deleted.' };
