import { sql } from 'kysely';
import { type Db, firstOf, listOf, rowsOf, scalarOf, write } from './index.ts';

/** `client`: a hash of the client id. */
export type ConnectedService = { address: string; client: string };

/** Whether two spellings of an address and a client are one account. The protocol does not count. */
export const isSameAccount = (one: ConnectedService, other: ConnectedService): boolean =>
  one.client === other.client && plainAddress(one) === plainAddress(other);

function plainAddress({ address }: ConnectedService): string {
  const { hostname = address, port = '', pathname = '' } = URL.parse(address) ?? {};
  return `${hostname.replace(/\.$/, '')}:${port}${pathname.replace(/\/+$/, '')}`.toLowerCase();
}

/** The service of the links, cursors and reviews in this warehouse; undefined before the first use. */
export const connectedService = (db: Db) => firstOf<ConnectedService>(db)`
  select service_address as address, service_client as client from sync.settings
  where service_address is not null`;

export const recordConnectedService = (db: Db, { address, client }: ConnectedService) => write(db)`
  update sync.settings set service_address = ${address}, service_client = ${client}
  where (service_address, service_client) is distinct from (${address}, ${client})`;

/** A short name of this warehouse with this client id. The address has no part in it: it may be spelled in two ways. */
export const installationOf = (db: Db, { clientId }: { clientId: string }) =>
  scalarOf<string>(db)`select left(md5(order_salt || ${clientId}), 8) from sync.settings`;

/** The names of the queues. Brands of one database are one deployment. */
export async function queueNames(db: Db, api: { clientId: string }, brand: string | undefined) {
  const installation = await installationOf(db, api);
  if (brand === undefined) return { installation };
  const deployment = await scalarOf<string>(db)`
    select left(md5(system_identifier::text || '/' || d.oid::text), 8)
    from pg_control_system(), pg_database d where datname = current_database()`;
  return { installation, brand, deployment };
}

/** Records that identify a service: pushed orders, and reviews. */
export type KnownRecords = {
  orders: { id: number; code: string; orderedAt: Date | null }[];
  reviews: { id: number; createdAt: Date }[];
};

/** The three newest and three oldest orders and reviews: a service may lack the newest, or not keep the oldest. */
export async function recordsOfAllAges(db: Db): Promise<KnownRecords> {
  const orders = sql`
    select order_id as id, order_code as code, ordered_at as "orderedAt" from sync.order_links where order_id is not null`;
  const reviews = sql`select id, created_at as "createdAt" from warehouse.reviews where deleted_at is null`;
  const known = await listOf<KnownRecords['orders'][number]>(db)`
    (${orders} order by ordered_at desc, order_code desc limit 3) union (${orders} order by ordered_at, order_code limit 3)`;
  const held = await listOf<KnownRecords['reviews'][number]>(db)`
    (${reviews} order by created_at desc limit 3) union (${reviews} order by created_at limit 3)`;
  return { orders: known, reviews: held };
}

/**
 * If the warehouse has no order and no review of the service, forgets the cursors and coverage of the service, and its
 * ids of products and of the catalog. The next runs read and push all of it again.
 */
export const forgetServiceUnlessKnown = (db: Db) => rowsOf(db, 'forget_service');
