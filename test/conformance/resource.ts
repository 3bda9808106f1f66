import { ensure, idsOf, isSame, listOf, locationIs, type Row, rowOf, show, statusIs, succeeds } from './expect.ts';
import type { Answer, Params } from './http.ts';
import type { Kind } from './ledger.ts';
import { pageOf, tellsMore } from './link.ts';
import { codeOf, post } from './post.ts';
import { detailOf, fullestListed, isGone, listed } from './records.ts';
import type { Session } from './session.ts';
import { beyondReach, CannotTell, inSection, type Statement } from './statement.ts';

type Made = Row & { id: number };

/** A resource of the spec: the headings it stands under, and how one of it is made. */
export type Resource = {
  kind: Kind;
  /** What the spec's headings about its operations begin with, and their ends. */
  under: string;
  headings: Record<'list' | 'get' | 'create' | 'update' | 'delete', string> & {
    getByCode?: string;
    updateByCode?: string;
  };
  /** Fields that each item of the list has. */
  listFields: readonly string[];
  answer: (session: Session) => Promise<Answer>;
  one: (session: Session) => Promise<Made>;
  another: (session: Session) => Promise<Made>;
  fresh: (session: Session, name: string) => Promise<Made>;
  /** What a POST needs beside the code. */
  required: (session: Session) => Promise<Params>;
  /** The text that an update changes, as it is sent and as it is shown. */
  text: { sent: string; shownAs: string };
  /** What keeps the list to this run's records, where it has pages. */
  ofThisRun?: (session: Session) => Params;
  /** Whether the spec says 204 of a deletion. */
  deletesWith204?: true;
  /** Whether the spec says that an update may change the code. */
  mayChangeCode?: true;
};

/** What the spec says of each resource alike. */
export function resourceStatements(resource: Resource): Statement[] {
  const { kind, headings, one, fresh, text } = resource;
  const path = `/v1/${kind}`;
  const says = (heading: keyof Resource['headings']) => inSection(`${resource.under}, ${headings[heading]}`);
  const read = async (session: Session, id: unknown) => rowOf(await session.call('GET', `${path}/${id}`));
  const updated = (session: Session) => fresh(session, 'updated-in-common');
  const updatedByCode = (session: Session) => fresh(session, 'updated-in-common-by-code');
  const change = { [text.sent]: 'Changed' };
  const deletes = says('delete');

  const deletion = (byCode: boolean): Statement[] => {
    const what = byCode ? `DELETE ${path} with its code` : `DELETE ${path}/:id`;
    const name = byCode ? 'deleted-by-code' : 'deleted';
    const gone = async (session: Session) => {
      const { id } = await fresh(session, name);
      const code = codeOf(session, name);
      const answer = await (byCode
        ? session.call('DELETE', path, { query: { code } })
        : session.call('DELETE', `${path}/${id}`));
      return { id, answer };
    };
    return [
      ...(resource.deletesWith204
        ? [deletes(`${what} answers 204`, async (session) => statusIs((await session.shared(gone)).answer, 204))]
        : []),
      deletes(`${what} deletes it for good`, async (session) => {
        const { id, answer } = await session.shared(gone);
        succeeds(answer);
        await isGone(session, path, id);
      }),
    ];
  };

  return [
    ...listStatements(resource, says('list')),
    says('get')(`GET ${path}/:id answers 200 with the record`, async (session) => {
      const { id } = await detailOf(session, path, one);
      const answer = await session.call('GET', `${path}/${id}`);
      statusIs(answer, 200);
      isSame('id', rowOf(answer).id, id);
    }),
    ...(headings.getByCode
      ? [
          says('getByCode')(`GET ${path} with code answers 200 with the record`, async (session) => {
            const { id, code } = await detailOf(session, path, one);
            if (typeof code !== 'string' || code === '') throw new CannotTell('needs a record with a code');
            const answer = await session.call('GET', path, { query: { code } });
            statusIs(answer, 200);
            isSame('id', rowOf(answer).id, id);
          }),
        ]
      : []),
    says('create')(`POST ${path} answers 201`, async (session) => statusIs(await session.shared(resource.answer), 201)),
    says('create')(`POST ${path} has the Location ${path}`, async (session) =>
      locationIs(await session.shared(resource.answer), path),
    ),
    ...updates(says('update'), `PATCH ${path}/:id`, path, async (session) => {
      const { id } = await session.shared(updated);
      return { id, answer: await session.call('PATCH', `${path}/${id}`, { form: change }) };
    }),
    ...deletion(false),
    ...(kind === 'user_grades'
      ? []
      : [
          says('create')('code is unique: the same code again updates the record', async (session) => {
            const first = await fresh(session, 'twice');
            const form = { ...(await resource.required(session)), [text.sent]: 'Twice' };
            const again = rowOf(await post(session, kind, 'twice', form));
            isSame(`id and ${text.shownAs}`, [again.id, again[text.shownAs]], [first.id, 'Twice']);
            isSame(`${text.shownAs} read again`, (await read(session, first.id))[text.shownAs], 'Twice');
          }),
          ...updates(says('updateByCode'), `PATCH ${path}`, path, async (session) => {
            const { id } = await session.shared(updatedByCode);
            const form = { code: codeOf(session, 'updated-in-common-by-code'), ...change };
            return { id, answer: await session.call('PATCH', path, { form }) };
          }),
          says('updateByCode')('code identifies the record', async (session) => {
            const { id } = await session.shared(updatedByCode);
            const form = { code: codeOf(session, 'updated-in-common-by-code'), [text.sent]: 'Found' };
            succeeds(await session.call('PATCH', path, { form }));
            isSame(text.shownAs, (await read(session, id))[text.shownAs], 'Found');
          }),
          says('updateByCode')('code is required', codeIsRequired),
          ...deletion(true),
          deletes(`DELETE ${path}: code is required`, codeIsRequired),
        ]),
    ...(resource.mayChangeCode
      ? [
          says('update')(`PATCH ${path}/:id: code can be changed`, async (session) => {
            const { id } = await fresh(session, 'recoded');
            const code = codeOf(session, 'recoded-2');
            succeeds(await session.call('PATCH', `${path}/${id}`, { form: { code } }));
            isSame('code', (await read(session, id)).code, code);
          }),
          says('update')('code must stay unique', async (session) => {
            const { id } = await session.shared(updated);
            const { code } = await session.shared(one);
            await session.call('PATCH', `${path}/${id}`, { form: { code: String(code) } });
            ensure((await read(session, id)).code !== code, `two records of code ${code}`, 'one');
          }),
        ]
      : []),
  ];
}

type Says = ReturnType<typeof inSection>;

function listStatements({ kind, listFields, one, another, ofThisRun }: Resource, says: Says): Statement[] {
  const path = `/v1/${kind}`;
  const two = async (session: Session) => {
    if (!session.settings.readOnly) await Promise.all([session.shared(one), session.shared(another)]);
    else if ((await listed(session, path, { limit: 2 })).length < 2)
      throw new CannotTell(`needs two records at ${path}`);
  };
  return [
    says('answers 200 with a JSON array of its records', async (session) => {
      if (!session.settings.readOnly) await session.shared(one);
      const [row] = listOf(await session.call('GET', path));
      ensure(row === undefined || listFields.every((field) => field in row), show(row), listFields.join(' and '));
    }),
    says('limit: from 1, and that many items', async (session) => {
      await two(session);
      await fullestListed(session, path);
      isSame('items with limit=1', (await listed(session, path, { limit: 1 })).length, 1);
    }),
    ...(ofThisRun
      ? [
          says('page: the page of that number', async (session) => {
            await two(session);
            const query = session.settings.readOnly ? {} : ofThisRun(session);
            const [first] = idsOf(await listed(session, path, { ...query, limit: 1, page: 1 }));
            const [second] = idsOf(await listed(session, path, { ...query, limit: 1, page: 2 }));
            ensure(second !== undefined && first !== second, `record ${second} on page 2`, `another than ${first}`);
          }),
        ]
      : []),
    says('the Link header holds rel "last" with the last page\'s number', async (session) => {
      const last = pageOf(await session.call('GET', path), 'last');
      ensure(last >= 1, `page ${last}`, 'a page number from 1');
    }),
    says('the Link header holds rel "next" with the next page\'s number', async (session) => {
      await two(session);
      const answer = await session.call('GET', path, { query: { limit: 1 } });
      if (session.settings.readOnly && !tellsMore(answer)) throw new CannotTell(`needs two records at ${path}`);
      isSame('rel "next" of page 1: page', pageOf(answer, 'next'), 2);
    }),
  ];
}

/** Of an update: its status, its `Location` and that it has no body. */
function updates(
  says: Says,
  what: string,
  path: string,
  send: (session: Session) => Promise<{ answer: Answer; id: number }>,
): Statement[] {
  return [
    says(`${what} answers 204`, async (session) => statusIs((await session.shared(send)).answer, 204)),
    says(`${what} has the Location ${path}/:id`, async (session) => {
      const { answer, id } = await session.shared(send);
      locationIs(answer, `${path}/${id}`);
    }),
    says(`${what} has no body`, async (session) => {
      const { answer } = await session.shared(send);
      ensure(answer.text === '', answer.told, 'no body');
    }),
  ];
}

const codeIsRequired = beyondReach('is not tried: without a code the same path may change or delete something else');
