import { ensure, isSame, rowOf, show, statusIs, succeeds } from '../expect.ts';
import type { Params } from '../http.ts';
import { parameterStatements } from '../parameters.ts';
import { codeOf } from '../post.ts';
import { freshReview, isGone } from '../records.ts';
import { hasItems } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { codeIsRequired } from '../without-code.ts';
import { updateStatements } from '../writes.ts';
import { itemOf, needsDefaultForm } from './review-items.ts';
import { productOptions, reviewParameters } from './review-parameters.ts';

const path = '/v1/reviews';
const read = async (session: Session, id: unknown) => rowOf(await session.call('GET', `${path}/${id}`));

type Way = {
  says: ReturnType<typeof inSection>;
  what: string;
  review: (session: Session) => Promise<{ id: number }>;
  /** Sends the update; the review is there already. */
  patch: (session: Session, form: Params) => ReturnType<Session['call']>;
};

const updated = (session: Session) => freshReview(session, 'updated');
const updatedByCode = (session: Session) => freshReview(session, 'updated-by-code');

const byId: Way = {
  says: inSection('Endpoints, Reviews, Update by id'),
  what: 'PATCH /v1/reviews/:id',
  review: updated,
  patch: async (session, form) => session.call('PATCH', `${path}/${(await session.shared(updated)).id}`, { form }),
};

const byCode: Way = {
  says: inSection('Endpoints, Reviews, Update by code'),
  what: 'PATCH /v1/reviews',
  review: updatedByCode,
  patch: async (session, form) => {
    await session.shared(updatedByCode);
    return session.call('PATCH', path, { form: { code: codeOf(session, 'updated-by-code'), ...form } });
  },
};

/** What both ways have in common. */
function updatesBy(way: Way): Statement[] {
  const { says, what, review, patch } = way;
  const send = async (session: Session) => ({
    id: (await session.shared(review)).id,
    answer: await patch(session, { message: 'Changed.' }),
  });
  return [
    ...updateStatements(says, { what, path, send }),
    ...parameterStatements(says, {
      operation: what,
      parameters: way === byId ? [...reviewParameters, productOptions] : reviewParameters,
      write: (session, _name, params) => patch(session, params),
      read: async (session) => read(session, (await session.shared(review)).id),
    }),
    says(`${what}: image_urls are shown as images once they are stored`, async (session) => {
      const { id } = await session.shared(review);
      succeeds(await patch(session, { 'image_urls[]': [session.settings.imageUrl] }));
      await session.until('the service stored no image: give one that it can load by --image-url', async () =>
        hasItems('images')(await read(session, id)) ? true : undefined,
      );
    }),
    says(`${what}: options, same item rules as create`, async (session) => {
      await needsDefaultForm(session);
      const { id } = await session.shared(review);
      const answer = await patch(session, await itemOf(session));
      if (answer.status === 422)
        throw new CannotTell(`needs a type that the shop has, by --option-type: ${answer.told}`);
      succeeds(answer);
      ensure(hasItems('options')(await read(session, id)), 'no item', 'the item that was sent');
    }),
  ];
}

const { says: saysById } = byId;

const emptyScore = saysById('an empty score updates the review to no rating', async (session) => {
  const { id } = await freshReview(session, 'unrated-later');
  succeeds(await session.call('PATCH', `${path}/${id}`, { form: { score: '' } }));
  const { score } = await read(session, id);
  ensure(score === null || score === undefined, `score ${show(score)}`, 'none');
});

const identified = byCode.says('code identifies the review', async (session) => {
  const { id } = await session.shared(updatedByCode);
  succeeds(await byCode.patch(session, { message: 'Found by its code.' }));
  isSame('message', (await read(session, id)).message, 'Found by its code.');
});

const deletes = inSection('Endpoints, Reviews, Delete');

const deletions: Statement[] = [
  deletes('DELETE /v1/reviews: code is required', codeIsRequired),
  deletes('DELETE /v1/reviews/:id answers 204', async (session) => {
    const { id } = await session.shared(deleted);
    statusIs(await session.call('DELETE', `${path}/${id}`), 204);
  }),
  deletes('DELETE /v1/reviews/:id is permanent', async (session) => {
    const { id } = await freshReview(session, 'deleted-for-good');
    succeeds(await session.call('DELETE', `${path}/${id}`));
    await isGone(session, path, id);
  }),
  deletes('DELETE /v1/reviews with its code answers 204', async (session) => {
    await session.shared(deletedByCode);
    const query = { code: codeOf(session, 'deleted-by-code') };
    statusIs(await session.call('DELETE', path, { query }), 204);
  }),
  deletes('DELETE /v1/reviews with its code is permanent', async (session) => {
    const { id } = await freshReview(session, 'deleted-by-code-for-good');
    succeeds(await session.call('DELETE', path, { query: { code: codeOf(session, 'deleted-by-code-for-good') } }));
    await isGone(session, path, id);
  }),
];

const deleted = (session: Session) => freshReview(session, 'deleted');
const deletedByCode = (session: Session) => freshReview(session, 'deleted-by-code');

export const reviewUpdates: readonly Statement[] = [
  ...updatesBy(byId),
  emptyScore,
  ...updatesBy(byCode),
  byCode.says('code is required', codeIsRequired),
  identified,
  ...deletions,
];
