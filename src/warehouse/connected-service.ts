import { sql } from 'kysely';
import type { Db } from './index.ts';

/** `client`: a hash of the client id. */
export type ConnectedService = { address: string; client: string };

/** The service to which the links, cursors and reviews of this warehouse belong; undefined before the first use. */
export async function connectedService(db: Db): Promise<ConnectedService | undefined> {
  const { rows } = await sql<ConnectedService>`select address, client from sync.connected_service`.execute(db);
  return rows[0];
}

export async function recordConnectedService(db: Db, { address, client }: ConnectedService): Promise<void> {
  await sql`
    insert into sync.connected_service (address, client) values (${address}, ${client})
    on conflict (is_only) do update set address = excluded.address, client = excluded.client, connected_at = now()`.execute(
    db,
  );
}

/** Records by which a service is recognised: the youngest orders that were pushed, and the youngest reviews. */
export type KnownRecords = { orders: { id: number; code: string }[]; reviews: { id: number; createdAt: Date }[] };

const asked = 3;

export async function youngestRecords(db: Db): Promise<KnownRecords> {
  const { rows: orders } = await sql<{ id: number; code: string }>`
    select order_id as id, order_code as code from sync.order_links where order_id is not null
    order by ordered_at desc, order_code desc limit ${asked}`.execute(db);
  const { rows: reviews } = await sql<{ id: number; createdAt: Date }>`
    select id, created_at as "createdAt" from warehouse.reviews where deleted_at is null
    order by created_at desc limit ${asked}`.execute(db);
  return { orders, reviews };
}
