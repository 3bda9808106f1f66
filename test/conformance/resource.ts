import {
  ensure,
  idsOf,
  isSame,
  isSuccess,
  listOf,
  locationIs,
  pageOf,
  type Row,
  rowOf,
  statusIs,
  succeeds,
} from './expect.ts';
import { codeOf, detailOf, enter, fullestListed, isGone, keyOf, listed, noteId, post, records } from './records.ts';
import { type Answer, type Kind, once, type Params, type Session } from './session.ts';
import { CannotTell, inSection, type Statement, where } from './statement.ts';
import { type FieldTable, fieldStatements, type Parameter, parameterStatements } from './tables.ts';

type Made = Row & { id: number };

/** A resource of the spec: the headings it stands under, its tables, and how one of it is made. */
export type Resource = {
  kind: Kind;
  /** What the spec calls it. The code of `one` ends with it, where it has a code. */
  noun: string;
  /** The same with its article. */
  called: string;
  /** What the spec's headings about its operations begin with, and their ends. */
  under: string;
  headings: Record<'list' | 'get' | 'create' | 'update' | 'delete', string> & {
    getByCode?: string;
    updateByCode?: string;
  };
  /** The tables of its fields; `listed` and `created` where they differ from the record alone. */
  tables: {
    section: string;
    alone: FieldTable;
    created?: FieldTable;
    listed?: { section: string; fields: FieldTable };
    /** One of the list. */
    listedSample: (session: Session) => Promise<Row>;
  };
  /** What a POST needs beside the code. */
  required: (session: Session) => Promise<Params>;
  /** Parameters without which a POST makes nothing. */
  refusedWithout: readonly string[];
  /** The tables of its parameters. */
  parameters: Record<'create' | 'update' | 'updateByCode', readonly Parameter[]>;
  /** What else is said of each way to update it. */
  ofUpdates?: (way: Way) => Statement[];
  /** The text that an update changes, as it is sent and as it is shown. */
  text: { sent: string; shownAs: string };
  /** What keeps the list to this run's records, where it has pages. */
  ofThisRun?: (session: Session) => Params;
  /** Whether the spec says 204 of a deletion. */
  deletesWith204?: true;
  /** Whether the spec says that an update may change the code. */
  mayChangeCode?: true;
};

/** An update by id or by code. */
export type Way = {
  says: Says;
  what: string;
  /** The record that it updates. */
  record: (session: Session) => Promise<Made>;
  patch: (session: Session, form: Params) => Promise<Answer>;
};

type Says = ReturnType<typeof inSection>;

const saysOf = (resource: Resource, heading: keyof Resource['headings']): Says =>
  inSection(`${resource.under}, ${resource.headings[heading]}`);

/** A record as it is shown alone. */
export const read = async (session: Session, kind: Kind, id: unknown): Promise<Row> =>
  rowOf(await session.call('GET', `/v1/${kind}/${id}`));

/** The fields of a record alone, in the list and in the answer to its creation. */
export function shapesOf({ kind, noun, called, tables }: Resource): Statement[] {
  const { one, answer } = records[kind];
  const { section, alone, created = alone, listed = { section, fields: alone } } = tables;
  return [
    ...fieldStatements(section, called, alone, (session) => detailOf(session, `/v1/${kind}`, one)),
    ...fieldStatements(listed.section, `${called} of the list`, listed.fields, tables.listedSample),
    ...fieldStatements(section, `the body returned by ${noun} creation`, created, async (session) =>
      rowOf(await answer(session)),
    ),
  ];
}

/** What the spec says of each resource alike, apart from its fields. */
export function resourceStatements(resource: Resource): Statement[] {
  const { kind, headings } = resource;
  const { one, fresh } = records[kind];
  const path = `/v1/${kind}`;
  const deletes = saysOf(resource, 'delete');
  const other = once((session) => fresh(session, 'other'));

  const deletion = (byCode: boolean): Statement => {
    const what = byCode ? `DELETE ${path} with its code` : `DELETE ${path}/:id`;
    const name = byCode ? 'deleted-by-code' : 'deleted';
    return deletes(`${what} deletes it for good${resource.deletesWith204 ? ', with 204' : ''}`, async (session) => {
      const { id } = await fresh(session, name);
      const query = { code: codeOf(session, name) };
      const answer = await (byCode ? session.call('DELETE', path, { query }) : session.call('DELETE', `${path}/${id}`));
      if (resource.deletesWith204) statusIs(answer, 204);
      succeeds(answer);
      await isGone(session, path, id);
    });
  };

  return [
    ...listStatements(resource),
    saysOf(resource, 'get')(`GET ${path}/:id answers 200 with the record`, async (session) => {
      const { id } = await detailOf(session, path, one);
      const answer = await session.call('GET', `${path}/${id}`);
      statusIs(answer, 200);
      isSame('id', rowOf(answer).id, id);
    }),
    ...where(
      headings.getByCode,
      saysOf(resource, 'getByCode')(`GET ${path} with code answers 200 with the record`, async (session) => {
        const { id, code } = await detailOf(session, path, one);
        if (typeof code !== 'string' || code === '') throw new CannotTell('needs a record with a code');
        const answer = await session.call('GET', path, { query: { code } });
        statusIs(answer, 200);
        isSame('id', rowOf(answer).id, id);
      }),
    ),
    ...creation(resource),
    ...updates(resource, 'update'),
    deletion(false),
    ...(headings.updateByCode ? [...updates(resource, 'updateByCode'), deletion(true)] : []),
    ...where(
      resource.mayChangeCode,
      saysOf(resource, 'update')(`PATCH ${path}/:id: code can be changed`, async (session) => {
        const { id } = await fresh(session, 'recoded');
        const code = codeOf(session, 'recoded-2');
        succeeds(await session.call('PATCH', `${path}/${id}`, { form: { code } }));
        isSame('code', (await read(session, kind, id)).code, code);
      }),
      saysOf(resource, 'update')('code must stay unique', async (session) => {
        const { id } = await other(session);
        const { code } = await one(session);
        await session.call('PATCH', `${path}/${id}`, { form: { code: String(code) } });
        ensure((await read(session, kind, id)).code !== code, `two records of code ${code}`, 'one');
      }),
    ),
  ];
}

function creation(resource: Resource): Statement[] {
  const { kind, noun, text, required } = resource;
  const { answer, fresh } = records[kind];
  const path = `/v1/${kind}`;
  const says = saysOf(resource, 'create');
  return [
    says(`POST ${path} answers 201 with the Location ${path}`, async (session) => {
      statusIs(await answer(session), 201);
      locationIs(await answer(session), path);
    }),
    says(`POST ${path}: ${keyOf(kind)} is shown as it was sent`, async (session) =>
      isSame(keyOf(kind), rowOf(await answer(session))[keyOf(kind)], codeOf(session, noun)),
    ),
    ...resource.refusedWithout.map((name) =>
      says(`${name} is required`, async (session) => {
        const code = codeOf(session, `without-${name}`);
        const all: Params = { ...(await required(session)), [text.sent]: code, [keyOf(kind)]: code };
        const { [name]: _, ...form } = all;
        const entry = enter(session, kind, code);
        const answer = await session.call('POST', path, { form });
        noteId(session, entry, answer);
        ensure(!isSuccess(answer), answer.told, 'no record');
      }),
    ),
    ...where(
      kind !== 'user_grades',
      says('code is unique: the same code again updates the record', async (session) => {
        const first = await fresh(session, 'twice');
        const form = { ...(await required(session)), [text.sent]: 'Twice' };
        const again = rowOf(await post(session, kind, 'twice', form));
        isSame(`id and ${text.shownAs}`, [again.id, again[text.shownAs]], [first.id, 'Twice']);
        isSame(`${text.shownAs} read again`, (await read(session, kind, first.id))[text.shownAs], 'Twice');
      }),
    ),
    ...parameterStatements(says, {
      operation: `POST ${path}`,
      parameters: resource.parameters.create,
      write: async (session, name, params) =>
        post(session, kind, `with-${name}`, { ...(await required(session)), ...params }),
      read: async (_session, answer) => rowOf(answer),
    }),
  ];
}

function listStatements(resource: Resource): Statement[] {
  const { kind, ofThisRun } = resource;
  const { one, fresh } = records[kind];
  const says = saysOf(resource, 'list');
  const path = `/v1/${kind}`;
  const another = once((session) => fresh(session, 'another'));
  const two = (session: Session) => Promise.all([one(session), another(session)]);
  return [
    says('answers 200 with a JSON array of its records', async (session) => {
      await one(session);
      listOf(await session.call('GET', path));
    }),
    says('limit: from 1, and that many items', async (session) => {
      await two(session);
      await fullestListed(session, path);
      isSame('items with limit=1', (await listed(session, path, { limit: 1 })).length, 1);
    }),
    ...where(
      ofThisRun,
      says('page: the page of that number', async (session) => {
        await two(session);
        const query = ofThisRun?.(session);
        const [first] = idsOf(await listed(session, path, { ...query, limit: 1, page: 1 }));
        const [second] = idsOf(await listed(session, path, { ...query, limit: 1, page: 2 }));
        ensure(second !== undefined && first !== second, `record ${second} on page 2`, `another than ${first}`);
      }),
    ),
    says('the Link header holds rel "last" with the last page\'s number', async (session) => {
      const last = pageOf(await session.call('GET', path), 'last');
      ensure(last >= 1, `page ${last}`, 'a page number from 1');
    }),
    says('the Link header holds rel "next" with the next page\'s number', async (session) => {
      await two(session);
      const answer = await session.call('GET', path, { query: { limit: 1 } });
      isSame('rel "next" of page 1: page', pageOf(answer, 'next'), 2);
    }),
  ];
}

/** Of one way to update: its status, its `Location`, that it has no body, and each parameter. */
function updates(resource: Resource, heading: 'update' | 'updateByCode'): Statement[] {
  const { kind, text } = resource;
  const { fresh } = records[kind];
  const path = `/v1/${kind}`;
  const says = saysOf(resource, heading);
  const isByCode = heading === 'updateByCode';
  const name = isByCode ? 'updated-by-code' : 'updated';
  const what = isByCode ? `PATCH ${path}` : `PATCH ${path}/:id`;
  const record = once((session) => fresh(session, name));
  const patch = async (session: Session, form: Params) => {
    const { id } = await record(session);
    if (isByCode) return session.call('PATCH', path, { form: { code: codeOf(session, name), ...form } });
    return session.call('PATCH', `${path}/${id}`, { form });
  };
  const now = async (session: Session) => read(session, kind, (await record(session)).id);
  return [
    says(`${what} answers 204 without a body, with the Location ${path}/:id`, async (session) => {
      const answer = await patch(session, { [text.sent]: 'Changed' });
      statusIs(answer, 204);
      ensure(answer.text === '', answer.told, 'no body');
      locationIs(answer, `${path}/${(await record(session)).id}`);
    }),
    ...parameterStatements(says, {
      operation: what,
      parameters: resource.parameters[heading],
      write: (session, _name, params) => patch(session, params),
      read: now,
    }),
    ...(resource.ofUpdates?.({ says, what, record, patch }) ?? []),
  ];
}
