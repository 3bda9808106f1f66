import { ensure, isRow, isSuccess, rowOf } from '../expect.ts';
import { operations } from '../operations.ts';
import type { Session } from '../session.ts';
import { CannotTell, inSection, type Statement } from '../statement.ts';

const says = inSection('Authentication');

const fieldsOf = ({ settings }: Session) => ({
  grant_type: 'client_credentials',
  client_id: settings.clientId,
  client_secret: settings.clientSecret,
});

const hasToken = (body: unknown) => isRow(body) && typeof body.access_token === 'string' && body.access_token !== '';

const tokens: Statement[] = [
  ...(['grant_type', 'client_id', 'client_secret'] as const).map((field) =>
    says(`1: no token is given without ${field}`, async (session) => {
      const { [field]: _, ...rest } = fieldsOf(session);
      const { status, body } = await session.requestToken(rest);
      ensure(!hasToken(body), `status ${status} with a token`, 'no token');
    }),
  ),
  says('1: no token is given for a wrong client_secret', async (session) => {
    const fields = { ...fieldsOf(session), client_secret: `${session.prefix}-wrong` };
    const { status, body } = await session.requestToken(fields);
    ensure(!hasToken(body), `status ${status} with a token`, 'no token');
  }),
  says('1 and 2: grant_type, client_id and client_secret as form fields give access_token in JSON', async (session) => {
    const { status, body } = await session.requestToken(fieldsOf(session));
    // Not shown in the report: it is good for everything.
    ensure(hasToken(body), `status ${status} without it`, 'access_token: string');
  }),
];

const presented: Statement[] = [
  ...operations.map(({ name, method, aim }) =>
    says(`3: ${name} needs the access_token`, async (session) => {
      const { path, params } = await aim(session);
      const isForm = method === 'POST' || method === 'PATCH';
      const answer = await session.call(method, path, {
        ...(isForm ? { form: params } : { query: params }),
        token: 'none',
      });
      ensure(!isSuccess(answer), answer.told, 'a refusal');
    }),
  ),
  says('3: a token that was not given out is refused', async (session) => {
    const query = { access_token: `${session.prefix}-none` };
    const answer = await session.call('GET', '/v1/user_grades', { query, token: 'none' });
    ensure(!isSuccess(answer), answer.told, 'a refusal');
  }),
];

const partner: Statement[] = [
  says('4: a partner account’s API user may not delete review data of others', async (session) => {
    const { foreignReviewId: id } = session.settings;
    if (id === undefined)
      throw new CannotTell('needs a partner account and --foreign-review <id>, which is lost if it may');
    const answer = await session.call('DELETE', `/v1/reviews/${id}`);
    ensure(!isSuccess(answer), answer.told, 'a refusal');
    rowOf(await session.call('GET', `/v1/reviews/${id}`));
  }),
];

export const authentication: readonly Statement[] = [...tokens, ...presented, ...partner];
