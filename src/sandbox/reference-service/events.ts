import { setTimeout as delay } from 'node:timers/promises';
import { showImages } from './review-images.ts';
import type { Service } from './service.ts';

export type Events = {
  addReceiver(url: string): Promise<void>;
  /** Resolves when no event waits for a receiver any more: all are delivered or given up. */
  idle(): Promise<void>;
  close(): Promise<void>;
};

/** The spec shows nothing of delivery. A receiver has this long to respond. */
const timeoutMs = 10_000;
const attempts = 20;
const longestRetryMs = 60_000;
/** How often to look for events and for images that are stored, in milliseconds. */
const lookEveryMs = 250;

/**
 * The webhooks (docs/interface.md, "Events"). Triggers write the events (sql/reference-service/0002.sql); here they are
 * sent, to each receiver by itself. What was not delivered when the process ended is sent after the next start.
 */
export async function openEvents(service: Service): Promise<Events> {
  const { store, options } = service;
  const ended = new AbortController();
  const senders: Promise<void>[] = [];

  const batchOf = async (receiverId: number) => {
    await showImages(service);
    return store.rows<{ kind: string; item: unknown; ids: string[] }>(batchSql, [receiverId]);
  };

  async function sendAll(receiverId: number, url: string): Promise<void> {
    for (let failures = 0; !ended.signal.aborted; ) {
      // If Postgres is away, the events stay in its table.
      const events = await batchOf(receiverId).catch(() => []);
      const [first] = events;
      if (first) {
        const list = first.kind === 'review' ? 'reviews' : 'products';
        const body = [{ brand_id: 1, [list]: events.map(({ item }) => item) }];
        failures = (await isDelivered(url, body, ended.signal)) ? 0 : failures + 1;
      }
      if (ended.signal.aborted) return;
      if (first && (failures === 0 || failures === attempts)) {
        failures = 0;
        const ids = events.flatMap((event) => event.ids);
        await store.rows('delete from reference_service.webhook_events where id = any($1::bigint[])', [ids]);
        continue;
      }
      const waitMs = failures === 0 ? lookEveryMs : Math.min(longestRetryMs, 500 * 2 ** failures);
      await delay(waitMs, undefined, { signal: ended.signal }).catch(() => {});
    }
  }

  async function addReceiver(url: string): Promise<void> {
    const insert = `insert into reference_service.webhook_receivers (url, created_at) values ($1, now())
      on conflict (url) do update set url = excluded.url returning id`;
    const [row] = await store.rows<{ id: number }>(insert, [url]);
    senders.push(sendAll(row?.id ?? 0, url).catch(() => {}));
  }

  const known = await store.rows<{ url: string }>('select url from reference_service.webhook_receivers');
  for (const url of new Set([...known.map((row) => row.url), ...(options.receivers ?? [])])) await addReceiver(url);
  return {
    addReceiver,
    async idle() {
      while ((await store.rows('select from reference_service.webhook_events limit 1')).length > 0) await delay(10);
    },
    async close() {
      ended.abort();
      await Promise.all(senders);
    },
  };
}

/** One POST: only a 2xx response delivers the body, and redirects are not followed. */
async function isDelivered(url: string, body: unknown, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]),
    });
    // Nobody reads the body of the response. Left unread, it would hold the connection.
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

// The events of one kind that waited longest. If an event is in one body twice, it is sent once, with its newest time.
const batchSql = `
  with due as (
    select * from reference_service.webhook_events where receiver_id = $1
  ), batch as materialized (
    select * from due where kind = (select kind from due order by id limit 1) order by id limit 500
  )
  select b.kind, array_agg(b.id::text) as ids,
    case b.kind
      when 'summary' then (
        select reference_service.product_summary_json(p) from reference_service.products p where p.id = b.subject_id
      )
      else json_build_object('id', b.subject_id, 'updated_at', reference_service.iso(max(b.at)))
    end as item
  from batch b
  group by b.kind, b.subject_id
  order by min(b.id)`;
