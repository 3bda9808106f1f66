import * as records from './records.ts';
import type { Answer, Kind, Params } from './session.ts';
import * as is from './statement.ts';
import { type FieldTable, fieldStatements, type Parameter, parameterStatements } from './tables.ts';

type Context = records.Context;

/** A resource of the spec, and how a record of it is made. */
export type Resource = {
  kind: Kind;
  /** The heading under which its operations stand. */
  section: string;
  /** What the spec calls a record of this kind, with its article. */
  called: string;
  /** Its fields alone; in the list and in the answer to its creation, if they differ. */
  fields: { section: string; alone: FieldTable; created?: FieldTable; listed?: readonly [string, FieldTable] };
  /** A record of the list. */
  listed: (context: Context) => Promise<is.Row>;
  /** Parameters without which a POST makes nothing. */
  refusedWithout: readonly string[];
  /** The tables of its parameters; an update by code takes those of the update by id, if it has no table. */
  parameters: { create: readonly Parameter[]; update: readonly Parameter[]; updateByCode?: readonly Parameter[] };
  /** What else is said of each way to update it. */
  ofUpdates?: (way: Way) => is.Statement[];
  /** The text that an update changes, as it is sent and as it is shown. */
  text: { sent: string; shownAs: string };
  /** The parameters that keep the list to this run's records, if it has pages. */
  ofThisRun?: (context: Context) => Params;
  /** What the spec says of some resources only: 204 of a deletion, and that an update by id may change the code. */
  deletesWith204?: true;
  mayChangeCode?: true;
};

/** An update by id or by code, and the record that it updates. */
export type Way = {
  what: string;
  record: (context: Context) => Promise<records.Record>;
  patch: (context: Context, form: Params) => Promise<Answer>;
};

/** The fields of a record alone, in the list and in the answer to its creation. */
export function shapesOf({ kind, called, fields, listed }: Resource): is.Statement[] {
  const { section, alone, created = alone, listed: [listSection, inList] = [section, alone] } = fields;
  return [
    ...fieldStatements(section, called, alone, records.detailOf(kind)),
    ...fieldStatements(listSection, `${called} of the list`, inList, listed),
    ...fieldStatements(section, `the body returned by ${records.nouns[kind]} creation`, created, async ({ answer }) =>
      is.rowOf(await answer(kind)),
    ),
  ];
}

/** What the spec says of each resource alike, apart from its fields. */
export function resourceStatements(resource: Resource): is.Statement[] {
  const { kind, parameters, mayChangeCode } = resource;
  const path = `/v1/${kind}`;
  const says = is.inSection(resource.section);
  const hasCode = kind !== 'user_grades';
  const isGot = async (answer: Answer, id: unknown) => {
    is.statusIs(answer, 200);
    is.isSame('id', is.rowOf(answer).id, id);
  };
  const deletion = (what: string, name: string, request: (context: Context, id: number) => Promise<Answer>) =>
    says(`DELETE ${what} deletes it for good${resource.deletesWith204 ? ', with 204' : ''}`, async (context) => {
      const { id } = await context.fresh(kind, name);
      const answer = await request(context, id);
      if (resource.deletesWith204) is.statusIs(answer, 204);
      is.succeeds(answer);
      await records.isGone(context, path, id);
    });
  return [
    ...listStatements(resource),
    says(`GET ${path}/:id answers 200 with the record`, async (context) => {
      const { id } = await records.detailOf(kind)(context);
      await isGot(await context.get(`${path}/${id}`), id);
    }),
    // The spec shows no path on which an order is got by its code.
    ...is.where(
      hasCode && kind !== 'orders',
      says(`GET ${path} with code answers 200 with the record`, async (context) => {
        const { id, code } = await records.detailOf(kind)(context);
        if (typeof code !== 'string' || code === '') throw new is.CannotTell('needs a record with a code');
        await isGot(await context.get(path, { code }), id);
      }),
    ),
    ...creation(resource),
    ...wayToUpdate(resource, parameters.update, false),
    deletion(`${path}/:id`, 'deleted', ({ call }, id) => call('DELETE', `${path}/${id}`)),
    ...(hasCode ? wayToUpdate(resource, parameters.updateByCode ?? parameters.update, true) : []),
    ...is.where(
      hasCode,
      deletion(`${path} with its code`, 'deleted-by-code', ({ call, code }) =>
        call('DELETE', path, { query: { code: code('deleted-by-code') } }),
      ),
    ),
    ...is.where(
      mayChangeCode,
      says(`PATCH ${path}/:id: code can be changed`, async ({ call, code, fresh, read }) => {
        const { id } = await fresh(kind, 'recoded');
        is.succeeds(await call('PATCH', `${path}/${id}`, { form: { code: code('recoded-2') } }));
        is.isSame('code', (await read(kind, id)).code, code('recoded-2'));
      }),
      says('code must stay unique', async ({ call, fresh, one, read }) => {
        const { id } = await fresh(kind, 'other');
        const { code } = await one(kind);
        await call('PATCH', `${path}/${id}`, { form: { code: String(code) } });
        is.ensure((await read(kind, id)).code !== code, `two records of code ${code}`, 'one');
      }),
    ),
  ];
}

function creation({ kind, section, text, refusedWithout, parameters }: Resource): is.Statement[] {
  const [path, key, says] = [`/v1/${kind}`, records.keyOf(kind), is.inSection(section)];
  return [
    says(`POST ${path} answers 201 with the Location ${path}`, async ({ answer }) => {
      is.statusIs(await answer(kind), 201);
      is.locationIs(await answer(kind), path);
    }),
    says(`POST ${path}: ${key} is shown as it was sent`, async ({ answer, code }) =>
      is.isSame(key, is.rowOf(await answer(kind))[key], code(records.nouns[kind])),
    ),
    ...refusedWithout.map((name) =>
      says(`${name} is required`, async ({ code, make }) =>
        is.isRefused(await make(kind, `without-${name}`, { [text.sent]: code(`without-${name}`) }, name), 'no record'),
      ),
    ),
    ...is.where(
      kind !== 'user_grades',
      says('code is unique: the same code again updates the record', async ({ fresh, make, read }) => {
        const first = await fresh(kind, 'twice');
        const again = is.rowOf(await make(kind, 'twice', { [text.sent]: 'Twice' }));
        is.isSame(`id and ${text.shownAs}`, [again.id, again[text.shownAs]], [first.id, 'Twice']);
        is.isSame(`${text.shownAs} read again`, (await read(kind, first.id))[text.shownAs], 'Twice');
      }),
    ),
    ...parameterStatements(says, {
      operation: `POST ${path}`,
      parameters: parameters.create,
      write: ({ make }, name, params) => make(kind, `with-${name}`, params),
      read: async (_context, answer) => is.rowOf(answer),
    }),
  ];
}

function listStatements({ kind, section, ofThisRun }: Resource): is.Statement[] {
  const [path, says] = [`/v1/${kind}`, is.inSection(section)];
  const another = ({ fresh }: Context) => fresh(kind, 'another');
  const two = ({ one, shared }: Context) => Promise.all([one(kind), shared(another)]);
  return [
    says('answers 200 with a JSON array of its records', async ({ list, one }) => {
      await one(kind);
      await list(path);
    }),
    says('limit: from 1, and that many items', async (context) => {
      await two(context);
      await records.fullestListed(context, path);
      is.isSame('items with limit=1', (await context.list(path, { limit: 1 })).length, 1);
    }),
    ...is.where(
      ofThisRun,
      says('page: the page of that number', async (context) => {
        await two(context);
        const query = { ...ofThisRun?.(context), limit: 1 };
        const [[first], [second]] = [await context.list(path, query), await context.list(path, { ...query, page: 2 })];
        const isOther = second !== undefined && first?.id !== second.id;
        is.ensure(isOther, `record ${second?.id} on page 2`, `another than ${first?.id}`);
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
function wayToUpdate(resource: Resource, parameters: readonly Parameter[], isByCode: boolean): is.Statement[] {
  const { kind, section, text } = resource;
  const [path, says] = [`/v1/${kind}`, is.inSection(section)];
  const [what, name] = isByCode ? [`PATCH ${path}`, 'updated-by-code'] : [`PATCH ${path}/:id`, 'updated'];
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
      parameters,
      write: (context, _name, params) => patch(context, params),
      read: async (context) => context.read(kind, (await record(context)).id),
    }),
    ...(resource.ofUpdates?.({ what, record, patch }) ?? []),
  ];
}
