import { inspect } from 'node:util';
import pino from 'pino';
import { expect, test } from 'vitest';
import { type ReviewApi, ReviewApiError } from '../../src/review-api/index.ts';
import { client, quick, type Reply, type Seen, secretToken, tinyService } from './tiny-service.ts';

const body = {
  code: 'A-1',
  created_at: '2024-01-01T00:00:00+09:00',
  total_price: '1.00',
  user_code: 'login-77',
  user_name: 'Kim Minji 서준 이나',
  // No pattern recognises it.
  user_phone: '74-55-21',
  user_email: 'minji@shop.example',
  store_name: '강남점',
};

/** Requests of each resource that carry something of a customer, and one that carries nothing. */
const calls: ((api: ReviewApi) => Promise<unknown>)[] = [
  ({ orders }) => orders.upsert(body),
  ({ orders }) => orders.getByCode('A-1'),
  ({ orders }) => orders.list({ usernames: ['login-77'] }),
  ({ subOrders }) =>
    subOrders.create(1, { product_id: 7, price: '1.00', invoice: 'parcel-88', delivery_service: '서울택배' }),
  ({ reviews }) =>
    reviews.upsert({
      code: 'R-1',
      message: '참좋아요',
      user_code: 'login-77',
      user_name: '서준',
      review_source_url: 'https://social.example/post-99',
    }),
];

test('no error, log line or wait quotes a token, a secret or a customer', async () => {
  /** What the service quotes: the request, the token and the secret. */
  const echoOf = ({ params }: Seen) => {
    const values = [...params.values()].join(' ');
    // A name may be quoted in part.
    return `?access_token=${secretToken(1)} ${values} the-s3cret-of-the-app ${values.split(' ').reverse().join(' ')}`;
  };
  const replies: ((seen: Seen) => Reply)[] = [
    ...[400, 401, 403, 404, 422, 429, 500].map((status) => (seen: Seen) => ({ status, body: { error: echoOf(seen) } })),
    (seen) => ({ body: `<p>${echoOf(seen)}</p>` }),
    (seen) => ({ body: `not json ${echoOf(seen)}` }),
    (seen) => ({ body: [echoOf(seen)] }),
    () => 'lost',
    () => 'half',
    (seen) => ({
      status: 302,
      // Nothing of the query is shown anyway.
      headers: { location: `http://127.0.0.1:1/${encodeURI(echoOf(seen).slice(1)).replaceAll('%20', '/')}` },
    }),
  ];
  let output = '';
  const tell = (text: unknown) => {
    output += text;
  };
  const log = pino({ level: 'trace' }, { write: tell });
  for (const reply of replies) {
    const service = await tinyService((seen) => reply(seen));
    const api = client(service.url, { log, onWait: ({ reason }) => tell(reason), retry: { ...quick, attempts: 2 } });
    for (const call of calls) {
      const error = await call(api).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ReviewApiError);
      tell(inspect(error, { depth: 20, showHidden: true }));
    }
    tell(JSON.stringify(api.stats()));
  }
  const shown = output.toLowerCase();
  const secrets = '5ecre7 s3cret login-77 minji 서준 이나 74-55-21 강남점 parcel-88 서울택배 참좋아요 post-99';
  for (const secret of secrets.split(' ').flatMap((one) => [one, encodeURI(one).toLowerCase()]))
    expect(shown).not.toContain(secret);
});
