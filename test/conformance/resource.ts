import {
  type Context,
  detailOf,
  enter,
  fullestListed,
  isGone,
  keyOf,
  type Record as Made,
  noteId,
  nouns,
} from './records.ts';
import type { Answer, Kind, Params } from './session.ts';
import * as is from './statement.ts';
import { type FieldTable, fieldStatements, type Parameter, parameterStatements } from './tables.ts';

/** A resource of the spec: the headings it stands under, its tables, and how a record of it is made. */
export type Resource = {
  kind: Kind;
  /** What the spec calls a record of this kind, with its article. */
  called: string;
  /** What the spec's headings about its operations begin with, and their ends. */
  under: string;
  headings: Record<'list' | 'get' | 'create' | 'update' | 'delete', string> & {
    getByCode?: string;
    updateByCode?: string;
  };
  /** The tables of its fields; `listed` and `created` if they differ from those of the record alone. */
  tables: {
    section: string;
    alone: FieldTable;
    created?: FieldTable;
    listed?: { section: string; fields: FieldTable };
    /** A record of the list. */
    listedSample: (context: Context) => Promise<is.Row>;
  };
  /** What a POST needs beside the code. */
  required: (context: Context) => Params | Promise<Params>;
  /** Parameters without which a POST makes nothing. */
  refusedWithout: readonly string[];
  /** The tables of its parameters. */
  parameters: Record<'create' | 'update' | 'updateByCode', readonly Parameter[]>;
  /** What else is said of each way to update it. */
  ofUpdates?: (way: Way) => is.Statement[];
  /** The text that an update changes, as it is sent and as it is shown. */
  text: { sent: string; shownAs: string };
  /** The parameters that keep the list to this run's records, if it has pages. */
  ofThisRun?: (context: Context) => Params;
  /** Whether the spec says 204 of a deletion. */
  deletesWith204?: true;
  /** Whether the spec says that an update may change the code. */
  mayChangeCode?: true;
};

/** An update by id or by code, and the record that it updates. */
export type Way = {
  says: is.Says;
  what: string;
  record: (context: Context) => Promise<Made>;
  patch: (context: Context, form: Params) => Promise<Answer>;
};

const saysOf = ({ under, headings }: Resource, heading: keyof Resource['headings']): is.Says =>
  is.inSection(`${under}, ${headings[heading]}`);

/** The fields of a record alone, in the list and in the answer to its creation. */
export function shapesOf({ kind, called, tables }: Resource): is.Statement[] {
  const { section, alone, created = alone, listed = { section, fields: alone } } = tables;
  return [
    ...fieldStatements(section, called, alone, detailOf(kind)),
    ...fieldStatements(listed.section, `${called} of the list`, listed.fields, tables.listedSample),
    ...fieldStatements(section, `the body returned by ${nouns[kind]} creation`, created, async ({ answer }) =>
      is.rowOf(await answer(kind)),
    ),
  ];
}

/** What the spec says of each resource alike, apart from its fields. */
export function resourceStatements(resource: Resource): is.Statement[] {
  const { kind, headings } = resource;
  const path = `/v1/${kind}`;
  const updates = saysOf(resource, 'update');
  const deletion = (byCode: boolean): is.Statement => {
    const what = byCode ? `DELETE ${path} with its code` : `DELETE ${path}/:id`;
    const name = byCode ? 'deleted-by-code' : 'deleted';
    const sentence = `${what} deletes it for good${resource.deletesWith204 ? ', with 204' : ''}`;
    return saysOf(resource, 'delete')(sentence, async (context) => {
      const { call, code, fresh } = context;
      const { id } = await fresh(kind, name);
      const answer = await (byCode
        ? call('DELETE', path, { query: { code: code(name) } })
        : call('DELETE', `${path}/${id}`));
      if (resource.deletesWith204) is.statusIs(answer, 204);
      is.succeeds(answer);
      await isGone(context, path, id);
    });
  };
  const isGot = async (answer: Answer, id: unknown) => {
    is.statusIs(answer, 200);
    is.isSame('id', is.rowOf(answer).id, id);
  };
  return [
    ...listStatements(resource),
    saysOf(resource, 'get')(`GET ${path}/:id answers 200 with the record`, async (context) => {
      const { id } = await detailOf(kind)(context);
      await isGot(await context.get(`${path}/${id}`), id);
    }),
    ...is.where(
      headings.getByCode,
      saysOf(resource, 'getByCode')(`GET ${path} with code answers 200 with the record`, async (context) => {
        const { id, code } = await detailOf(kind)(context);
        if (typeof code !== 'string' || code === '') throw new is.CannotTell('needs a record with a code');
        await isGot(await context.get(path, { code }), id);
      }),
    ),
    ...creation(resource),
    ...waysToUpdate(resource, 'update'),
    deletion(false),
    ...(headings.updateByCode ? [...waysToUpdate(resource, 'updateByCode'), deletion(true)] : []),
    ...is.where(
      resource.mayChangeCode,
      updates(`PATCH ${path}/:id: code can be changed`, async ({ call, code, fresh, read }) => {
        const { id } = await fresh(kind, 'recoded');
        is.succeeds(await call('PATCH', `${path}/${id}`, { form: { code: code('recoded-2') } }));
        is.isSame('code', (await read(kind, id)).code, code('recoded-2'));
      }),
      updates('code must stay unique', async ({ call, fresh, one, read }) => {
        const { id } = await fresh(kind, 'other');
        const { code } = await one(kind);
        await call('PATCH', `${path}/${id}`, { form: { code: String(code) } });
        is.ensure((await read(kind, id)).code !== code, `two records of code ${code}`, 'one');
      }),
    ),
  ];
}

function creation(resource: Resource): is.Statement[] {
  const { kind, text, required } = resource;
  const [path, key, says] = [`/v1/${kind}`, keyOf(kind), saysOf(resource, 'create')];
  return [
    says(`POST ${path} answers 201 with the Location ${path}`, async ({ answer }) => {
      is.statusIs(await answer(kind), 201);
      is.locationIs(await answer(kind), path);
    }),
    says(`POST ${path}: ${key} is shown as it was sent`, async ({ answer, code }) =>
      is.isSame(key, is.rowOf(await answer(kind))[key], code(nouns[kind])),
    ),
    ...resource.refusedWithout.map((name) =>
      says(`${name} is required`, async (context) => {
        const code = context.code(`without-${name}`);
        const all: Params = { ...(await required(context)), [text.sent]: code, [key]: code };
        const { [name]: _, ...form } = all;
        const entry = enter(context, kind, code);
        const answer = await context.call('POST', path, { form });
        noteId(context, entry, answer);
        is.isRefused(answer, 'no record');
      }),
    ),
    ...is.where(
      kind !== 'user_grades',
      says('code is unique: the same code again updates the record', async (context) => {
        const first = await context.fresh(kind, 'twice');
        const again = is.rowOf(
          await context.post(kind, 'twice', { ...(await required(context)), [text.sent]: 'Twice' }),
        );
        is.isSame(`id and ${text.shownAs}`, [again.id, again[text.shownAs]], [first.id, 'Twice']);
        is.isSame(`${text.shownAs} read again`, (await context.read(kind, first.id))[text.shownAs], 'Twice');
      }),
    ),
    ...parameterStatements(says, {
      operation: `POST ${path}`,
      parameters: resource.parameters.create,
      write: async (context, name, params) =>
        context.post(kind, `with-${name}`, { ...(await required(context)), ...params }),
      read: async (_context, answer) => is.rowOf(answer),
    }),
  ];
}

function listStatements(resource: Resource): is.Statement[] {
  const { kind, ofThisRun } = resource;
  const [path, says] = [`/v1/${kind}`, saysOf(resource, 'list')];
  const another = ({ fresh }: Context) => fresh(kind, 'another');
  const two = ({ one, shared }: Context) => Promise.all([one(kind), shared(another)]);
  return [
    says('answers 200 with a JSON array of its records', async ({ list, one }) => {
      await one(kind);
      await list(path);
    }),
    says('limit: from 1, and that many items', async (context) => {
      await two(context);
      await fullestListed(context, path);
      is.isSame('items with limit=1', (await context.list(path, { limit: 1 })).length, 1);
    }),
    ...is.where(
      ofThisRun,
      says('page: the page of that number', async (context) => {
        await two(context);
        const ofPage = async (page: number) =>
          is.idsOf(await context.list(path, { ...ofThisRun?.(context), limit: 1, page }))[0];
        const [first, second] = [await ofPage(1), await ofPage(2)];
        is.ensure(second !== undefined && first !== second, `record ${second} on page 2`, `another than ${first}`);
      }),
    ),
    says('the Link header holds rel "last" with the last page\'s number', async ({ get }) => {
      const last = is.pageOf(await get(path), 'last');
      is.ensure(last >= 1, `page ${last}`, 'a page number from 1');
    }),
    says('the Link header holds rel "next" with the next page\'s number', async (context) => {
      await two(context);
      is.isSame('rel "next" of page 1: page', is.pageOf(await context.get(path, { limit: 1 }), 'next'), 2);
    }),
  ];
}

/** The statements about one way to update: its status, its `Location`, that it has no body, and each parameter. */
function waysToUpdate(resource: Resource, heading: 'update' | 'updateByCode'): is.Statement[] {
  const { kind, text } = resource;
  const [path, says, isByCode] = [`/v1/${kind}`, saysOf(resource, heading), heading === 'updateByCode'];
  const name = isByCode ? 'updated-by-code' : 'updated';
  const what = isByCode ? `PATCH ${path}` : `PATCH ${path}/:id`;
  const make = ({ fresh }: Context) => fresh(kind, name);
  const record = ({ shared }: Context) => shared(make);
  const patch = async (context: Context, form: Params) => {
    const { id } = await record(context);
    if (isByCode) return context.call('PATCH', path, { form: { code: context.code(name), ...form } });
    return context.call('PATCH', `${path}/${id}`, { form });
  };
  return [
    says(`${what} answers 204 without a body, with the Location ${path}/:id`, async (context) => {
      const answer = await patch(context, { [text.sent]: 'Changed' });
      is.statusIs(answer, 204);
      is.ensure(answer.text === '', answer.summary, 'no body');
      is.locationIs(answer, `${path}/${(await record(context)).id}`);
    }),
    ...parameterStatements(says, {
      operation: what,
      parameters: resource.parameters[heading],
      write: (context, _name, params) => patch(context, params),
      read: async (context) => context.read(kind, (await record(context)).id),
    }),
    ...(resource.ofUpdates?.({ says, what, record, patch }) ?? []),
  ];
}
