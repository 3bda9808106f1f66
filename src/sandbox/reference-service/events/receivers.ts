import { Failure } from '../failure.ts';
import type { Store } from '../store.ts';

/** Where webhooks are sent; with a secret they are signed. */
export type WebhookReceiver = { url: string; secret?: string | null };

/** What is wrong with a receiver's address; undefined where nothing is. */
export function faultOfUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return 'expected an http or https address';
  if (url.username !== '' || url.password !== '') return 'expected an address without user and password';
  return undefined;
}

/**
 * Adds a receiver, or changes the secret of the one that has the address: absent it stays, null takes it away.
 *
 * @throws Failure 422 for an address that nothing can be sent to.
 */
export async function registerReceiver(store: Store, { url, secret }: WebhookReceiver, now: Date): Promise<unknown> {
  const fault = faultOfUrl(url);
  if (fault) throw new Failure(422, `url: found ${JSON.stringify(url).slice(0, 100)}, ${fault}`);
  const [row] = await store.rows<{ body: unknown }>(
    `insert into reference_service.webhook_receivers as r (url, secret, created_at) values ($1, $2, $3)
     on conflict (url) do update set secret = case when $4 then excluded.secret else r.secret end
     returning ${receiverJson} as body`,
    [url, secret ?? null, now, secret !== undefined],
  );
  return row?.body;
}

/** A receiver and how it fares: what waits for it, what was given up, and why. Its secret is not shown. */
export const receiverJson = `(
  select json_build_object(
    'id', r.id, 'url', r.url, 'has_secret', r.secret is not null, 'created_at', reference_service.iso(r.created_at),
    'delivered_at', reference_service.iso(r.delivered_at),
    'waiting', count(*) filter (where e.gave_up_at is null),
    'failed', count(e.gave_up_at),
    'attempts', coalesce(max(e.attempts), 0),
    'next_at', reference_service.iso(min(e.next_at) filter (where e.gave_up_at is null)),
    'last_error', (array_agg(e.last_error order by e.next_at desc) filter (where e.last_error is not null))[1]
  )
  from reference_service.webhook_events e where e.receiver_id = r.id
)`;
