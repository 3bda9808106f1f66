import { ensure, isSame, isSuccess, rowOf, show } from '../expect.ts';
import { operations } from '../operations.ts';
import { aReview } from '../records.ts';
import { anOption, newestReviews, optionsFormOf } from '../review-samples.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';
import { itemOf } from './review-items.ts';

const says = inSection('Versioning');

export const versioning: readonly Statement[] = [
  says('1: every operation is found under the prefix /v1/', async (session) => {
    for (const { name, method, aim } of operations.filter((one) => one.method === 'GET')) {
      if (session.settings.readOnly && /:id|code/.test(name)) continue;
      const { path, params } = await aim(session);
      const answer = await session.call(method, path, { query: params });
      ensure(path.startsWith('/v1/') && answer.status !== 404, answer.told, `${name} to be there`);
    }
  }),
  says(
    '2: review options have the default form or the v2 form, with option_type_name and value_text',
    async (session) => {
      const item = await session.shared(anOption);
      const extra = ['option_type_name', 'value_text'].filter((field) => field in item);
      ensure(extra.length !== 1, show(item), 'both fields of the v2 form, or neither');
    },
  ),
  says('2: the options parameter is unavailable to shops on the v2 form', async (session) => {
    if ((await optionsFormOf(session)) !== 'v2') throw new CannotTell('the shop uses the default form');
    const { id } = await session.shared(aReview);
    const before = await session.call('GET', `/v1/reviews/${id}`);
    const answer = await session.call('PATCH', `/v1/reviews/${id}`, { form: await itemOf(session) });
    if (!isSuccess(answer)) return;
    const after = await session.call('GET', `/v1/reviews/${id}`);
    isSame('options after an update with options', rowOf(after).options, rowOf(before).options);
  }),
  says('3: videos replaces video_urls: a review with video_urls has videos', async (session) => {
    const rows = await session.shared(newestReviews);
    const rich = rows.filter((row) => Array.isArray(row.video_urls) && row.video_urls.length > 0);
    if (rich.length === 0) throw new CannotTell('none of the 100 newest reviews of the last 30 days has video_urls');
    const odd = rich.find(({ videos }) => !Array.isArray(videos) || videos.length === 0);
    ensure(odd === undefined, `review ${odd?.id} without videos`, 'videos beside video_urls');
  }),
];
