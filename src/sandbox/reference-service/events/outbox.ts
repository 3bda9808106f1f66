import type { Store } from '../store.ts';
import { bodyOf, type EventKind } from './body.ts';
import type { WebhookLimits } from './limits.ts';
import type { Outcome } from './send-webhook.ts';

/** What goes to one receiver in one request. */
export type Delivery = { receiverId: number; url: string; secret: string | null; eventIds: string[]; body: string };

/** Longer than a request may take, for what Postgres needs before and after it. */
const leaseMarginMs = 5000;

/**
 * Takes the events that one receiver is due: those of one kind that waited longest, up to the most of one body. No
 * other instance sends to that receiver until `settleDelivery`, or until this instance must be dead.
 *
 * @returns undefined where nothing is due.
 */
export async function takeDelivery(store: Store, limits: WebhookLimits): Promise<Delivery | undefined> {
  const [receiver] = await store.rows<{ id: number; url: string; secret: string | null }>(claimSql, [
    limits.timeoutMs + leaseMarginMs,
  ]);
  if (!receiver) return undefined;
  const events = await store.rows<{ kind: EventKind; brandId: number; item: unknown; ids: string[] }>(batchSql, [
    receiver.id,
    limits.batch,
  ]);
  const kind = events[0]?.kind;
  if (!kind) {
    await store.rows(releaseSql, [receiver.id]);
    return undefined;
  }
  const { id: receiverId, url, secret } = receiver;
  return { receiverId, url, secret, eventIds: events.flatMap((event) => event.ids), body: bodyOf(kind, events) };
}

/** Writes down how a delivery ended: its events are gone, wait for the next attempt, or are given up. */
export async function settleDelivery(
  store: Store,
  { receiverId, eventIds }: Delivery,
  outcome: Outcome,
  limits: WebhookLimits,
): Promise<void> {
  switch (outcome.kind) {
    case 'delivered':
      await store.rows(deliveredSql, [receiverId, eventIds]);
      return;
    case 'failed':
      await store.rows(failedSql, [
        ...[receiverId, eventIds, outcome.reason.slice(0, 300)],
        ...[limits.attempts, limits.firstRetryMs, limits.longestRetryMs],
      ]);
      return;
    case 'interrupted':
      await store.rows(releaseSql, [receiverId]);
      return;
  }
}

/** Whether anybody receives webhooks, and the milliseconds until the next is due: 0 or less for now, null for never. */
export async function readOutlook(store: Store): Promise<{ hasReceivers: boolean; dueInMs: number | null }> {
  const [outlook] = await store.rows<{ hasReceivers: boolean; dueInMs: number | null }>(outlookSql);
  return outlook ?? { hasReceivers: false, dueInMs: null };
}

/** Whether an event is yet to be delivered, or given up. */
export async function isWaiting(store: Store): Promise<boolean> {
  const waiting = await store.rows('select 1 from reference_service.webhook_events where gave_up_at is null limit 1');
  return waiting.length > 0;
}

// `no key`: writes that emit an event hold a key share of the receiver, and must neither wait nor be waited for.
const claimSql = `
  update reference_service.webhook_receivers r
  set sending_until = clock_timestamp() + make_interval(secs => $1::float8 / 1000)
  where r.id = (
    select due.id from reference_service.webhook_receivers due
    where (due.sending_until is null or due.sending_until <= clock_timestamp()) and exists (
      select from reference_service.webhook_events e
      where e.receiver_id = due.id and e.gave_up_at is null and e.next_at <= clock_timestamp()
    )
    order by due.delivered_at nulls first
    limit 1
    for no key update skip locked
  )
  returning r.id, r.url, r.secret`;

// An event that is in one body twice is sent once, at its newest time.
const batchSql = `
  with due as (
    select e.* from reference_service.webhook_events e
    where e.receiver_id = $1 and e.gave_up_at is null and e.next_at <= clock_timestamp()
  ), batch as materialized (
    select * from due
    where kind = (select kind from due order by next_at, id limit 1)
    order by next_at, id limit $2
  )
  select b.kind, b.brand_id as "brandId", array_agg(b.id::text) as ids,
    case b.kind
      when 'summary' then (
        select reference_service.product_summary_json(p) from reference_service.products p where p.id = b.subject_id
      )
      else json_build_object('id', b.subject_id, 'updated_at', reference_service.iso(max(b.at)))
    end as item
  from batch b
  group by b.kind, b.brand_id, b.subject_id
  order by b.brand_id, min(b.next_at), min(b.id)`;

const deliveredSql = `
  with gone as (delete from reference_service.webhook_events where id = any($2::bigint[]))
  update reference_service.webhook_receivers set sending_until = null, delivered_at = clock_timestamp() where id = $1`;

const failedSql = `
  with tried as (
    update reference_service.webhook_events
    set attempts = attempts + 1,
      last_error = $3,
      next_at = clock_timestamp() + make_interval(secs => least($6::float8, $5::float8 * 2 ^ least(attempts, 40)) / 1000),
      gave_up_at = case when attempts + 1 >= $4::integer then clock_timestamp() end
    where id = any($2::bigint[])
  )
  update reference_service.webhook_receivers set sending_until = null where id = $1`;

const releaseSql = 'update reference_service.webhook_receivers set sending_until = null where id = $1';

const outlookSql = `
  select count(*) > 0 as "hasReceivers",
    extract(epoch from 
      min(greatest(first.next_at, r.sending_until)) filter (where first.next_at is not null) - clock_timestamp()
    )::float8 * 1000 as "dueInMs"
  from reference_service.webhook_receivers r
  left join lateral (
    select e.next_at from reference_service.webhook_events e
    where e.receiver_id = r.id and e.gave_up_at is null
    order by e.next_at limit 1
  ) first on true`;
