import { sql } from 'kysely';
import type { Db } from './index.ts';

/** `client`: a hash of the client id. */
export type ConnectedService = { address: string; client: string };

/** The service to which the links, cursors and reviews of this warehouse belong; undefined before the first use. */
export async function connectedService(db: Db): Promise<ConnectedService | undefined> {
  const { rows } = await sql<ConnectedService>`
    select service_address as address, service_client as client from sync.settings
    where service_address is not null`.execute(db);
  return rows[0];
}

export async function recordConnectedService(db: Db, { address, client }: ConnectedService): Promise<void> {
  await sql`update sync.settings set service_address = ${address}, service_client = ${client}`.execute(db);
}

/** Records by which a service is recognised: orders that were pushed, and reviews. */
export type KnownRecords = { orders: { id: number; code: string }[]; reviews: { id: number; createdAt: Date }[] };

const newest = 3;
/** Where in the time from the oldest record to the newest one the others are taken from: at most seven of a kind. */
const parts = [0, 0.25, 0.5, 0.75];

/**
 * The three newest orders and reviews, the oldest, and three in between: somebody may have deleted the newest at the
 * service, and a service may not keep the oldest. A few rows of an index each.
 */
export async function recordsOfAllAges(db: Db): Promise<KnownRecords> {
  const { rows: orders } = await sql<{ id: number; code: string }>`
    with newest as (
      select order_id, order_code from sync.order_links where order_id is not null
      order by ordered_at desc, order_code desc limit ${newest}
    ), span as (
      select min(ordered_at) as first, max(ordered_at) as last from sync.order_links
    ), others as (
      select one.* from span, unnest(${parts}::float8[]) as part, lateral (
        select order_id, order_code from sync.order_links
        where order_id is not null and ordered_at >= first + (last - first) * part
        order by ordered_at, order_code limit 1
      ) one
    )
    select order_id as id, order_code as code from newest
    union all (select * from others except select * from newest)`.execute(db);
  const { rows: reviews } = await sql<{ id: number; createdAt: Date }>`
    with newest as (
      select id, created_at from warehouse.reviews where deleted_at is null order by created_at desc limit ${newest}
    ), span as (
      select min(created_at) as first, max(created_at) as last from warehouse.reviews
    ), others as (
      select one.* from span, unnest(${parts}::float8[]) as part, lateral (
        select id, created_at from warehouse.reviews
        where deleted_at is null and created_at >= first + (last - first) * part
        order by created_at limit 1
      ) one
    )
    select id, created_at as "createdAt" from newest
    union all (select * from others except select * from newest)`.execute(db);
  return { orders, reviews };
}
