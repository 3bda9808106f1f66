import { ensure, isRow, isSame, isSuccess, type Row, rowOf, show, succeeds } from '../expect.ts';
import type { Params } from '../http.ts';
import { codeOf, createdBy, post, postJson } from '../post.ts';
import { aReview, productIdOf, reviewAnswer, reviewParams } from '../records.ts';
import { read } from '../resource.ts';
import { hasItems, optionsAnswer, optionsFormOf, pictured, withImages } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { noProductOptions } from './review.ts';
import { itemOf, needsDefaultForm } from './review-items.ts';

const says = inSection('Endpoints, Reviews, Create or update a review');

async function write(session: Session, name: string, without: readonly string[], more: Params = {}) {
  const params = Object.entries({ ...reviewParams(session), ...more }).filter(([key]) => !without.includes(key));
  return post(session, 'reviews', name, Object.fromEntries(params));
}

const basics: Statement[] = [
  says('the request may be JSON', async (session) => {
    const { id } = createdBy(session, await session.shared(jsonAnswer));
    isSame('message', (await read(session, 'reviews', id)).message, 'Sent as JSON.');
  }),
  says('code: shop-side unique identifier, shown as it was sent', async (session) =>
    isSame('code', rowOf(await session.shared(reviewAnswer)).code, codeOf(session, 'review')),
  ),
  says('product_code may be omitted when product_id is given', async (session) => {
    const product_id = await productIdOf(session);
    const answer = await write(session, 'by-product-id', ['product_code'], { product_id });
    isSame('product_id', rowOf(answer).product_id, product_id);
  }),
  says('product_options as an array of string, in JSON', async (session) => {
    const { product_options: found } = createdBy(session, await session.shared(jsonAnswer));
    if (found === undefined) throw new CannotTell(noProductOptions);
    isSame('product_options', found, { Size: 'S', Colour: 'green' });
  }),
  says('score omitted means a review with no rating', async (session) => {
    const { score } = rowOf(await write(session, 'without-score', ['score']));
    ensure(score === null || score === undefined, `score ${show(score)}`, 'none');
  }),
  says('score is 1 to 5: 6 is not kept', async (session) => {
    const answer = await write(session, 'with-score-6', [], { score: 6 });
    const kept = isSuccess(answer) && isRow(answer.body) ? answer.body.score : undefined;
    ensure(kept !== 6, `score ${show(kept)}`, 'a refusal, or 1 to 5');
  }),
  says('user_code may be omitted for non-member reviews', async (session) =>
    succeeds(await write(session, 'of-a-non-member', ['user_code'])),
  ),
  says('review_source_url is taken', async (session) => {
    const answer = await write(session, 'from-elsewhere', [], {
      review_source_url: 'https://www.youtube.com/shorts/conf',
    });
    if (!isSuccess(answer)) throw new CannotTell(`which platforms are taken is not shown by name: ${answer.told}`);
  }),
];

/** JSON keeps its types; nothing but the options' form is not in a form, too. */
async function jsonAnswer(session: Session) {
  const { product_code, score, user_code, user_name } = reviewParams(session);
  const json: Row = { product_code, score, user_code, user_name, message: 'Sent as JSON.' };
  return postJson(session, 'reviews', 'json', { ...json, product_options: ['Size:S', 'Colour:green'] });
}

const images: Statement[] = [
  says('image_urls are stored asynchronously, so not reflected at once in the response', async (session) => {
    const made = await session.shared(withImages);
    ensure(!hasItems('images')(made), `images ${show(made.images)} at once`, 'none yet');
  }),
  says('image_urls are shown as images once they are stored', async (session) => {
    const { images: found, images_count: count } = await session.shared(pictured);
    ensure(Array.isArray(found) && count === found.length, `images_count ${show(count)}`, 'the number of images');
  }),
];

const optionFields = ['review_option_type_id', 'created_at', 'value'] as const;

const additional: Statement[] = [
  says('options: an array of objects in JSON', async (session) => {
    await needsDefaultForm(session);
    const { options } = createdBy(session, await session.shared(optionsAnswer));
    const [item] = Array.isArray(options) ? options : [];
    isSame('value of the item', isRow(item) ? item.value : undefined, 'Fits well');
  }),
  says('options: form encoding is options[][<field>]', async (session) => {
    await needsDefaultForm(session);
    const item = await itemOf(session);
    const { options } = createdBy(session, await write(session, 'form-options', [], item));
    isSame('items', Array.isArray(options) ? options.length : options, 1);
  }),
  ...optionFields.map((field) =>
    says(`options: ${field} of an item is required`, async (session) => {
      await needsDefaultForm(session);
      const { [`options[][${field}]`]: _, ...item } = await itemOf(session);
      const answer = await write(session, `options-without-${field}`, [], item);
      const kept = isSuccess(answer) && isRow(answer.body) && hasItems('options')(answer.body);
      ensure(!kept, `an item without ${field}`, 'that it is not kept');
    }),
  ),
  says('options: code of an item is optional', async (session) => {
    await needsDefaultForm(session);
    const item = { ...(await itemOf(session)), 'options[][code]': codeOf(session, 'item') };
    succeeds(await write(session, 'options-with-code', [], item));
  }),
  says('options: not usable in shops using the v2 additional-information model', async (session) => {
    if ((await optionsFormOf(session)) !== 'v2') throw new CannotTell('the shop uses the default form');
    const answer = await session.shared(optionsAnswer);
    const kept = isSuccess(answer) && isRow(answer.body) && hasItems('options')(answer.body);
    ensure(!kept, answer.told, 'a refusal, or no item kept');
    const { id } = await session.shared(aReview);
    const before = (await read(session, 'reviews', id)).options;
    await session.call('PATCH', `/v1/reviews/${id}`, { form: await itemOf(session) });
    isSame('options after an update with options', (await read(session, 'reviews', id)).options, before);
  }),
];

export const reviewWriting: readonly Statement[] = [
  inSection('States and transitions, Review display')(
    'create without display makes a review displayed',
    async (session) => isSame('display', rowOf(await session.shared(reviewAnswer)).display, true),
  ),
  ...basics,
  ...images,
  ...additional,
];
