import { ensure, rowOf, show, succeeds } from '../expect.ts';
import type { Params } from '../http.ts';
import { parameterStatements } from '../parameters.ts';
import { codeOf } from '../post.ts';
import { anotherReview, aReview, freshReview, reviewAnswer, reviewParams } from '../records.ts';
import { type Resource, resourceStatements } from '../resource.ts';
import { hasItems } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
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
  return [
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

const common: Resource = {
  kind: 'reviews',
  under: 'Endpoints, Reviews',
  headings: {
    list: 'List reviews',
    get: 'Get a review',
    getByCode: 'Get a review',
    create: 'Create or update a review',
    update: 'Update by id',
    updateByCode: 'Update by code',
    delete: 'Delete',
  },
  listFields: ['id', 'message'],
  answer: reviewAnswer,
  one: aReview,
  another: anotherReview,
  fresh: freshReview,
  required: async (session) => reviewParams(session),
  text: { sent: 'message', shownAs: 'message' },
  deletesWith204: true,
};

export const reviewUpdates: readonly Statement[] = [
  ...resourceStatements(common),
  ...updatesBy(byId),
  emptyScore,
  ...updatesBy(byCode),
];
