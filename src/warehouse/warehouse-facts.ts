import { rowsOf, scalarOf, type Warehouse } from './index.ts';
import { compareMigrations, type MigrationState } from './migrate.ts';

export type WarehouseFacts = {
  version: string;
  user: string;
  encoding: string;
  connections: { used: number; most: number };
  /** A standby, or a server after a full disk: hosts make such a database read-only. */
  isReadOnly: boolean;
  mayCreateSchemas: boolean;
  mayCreateTemporary: boolean;
  /** Owners of our tables and views, if the user lacks their rights: `analyze` and recounts need these. */
  otherOwners: string[];
  /** Schemas that let every role of the database create functions. Postgres 14 and older made `public` one. */
  openSchemas: string[];
  /** The search path of our connections: a pooler may drop the one we request. */
  searchPath: string;
} & MigrationState;

/** Reads facts about the warehouse and our rights in it. Changes nothing. */
export async function readWarehouseFacts({ db }: Warehouse): Promise<WarehouseFacts> {
  const [facts] = await rowsOf<Omit<WarehouseFacts, keyof MigrationState>>(db, 'warehouse_facts');
  if (!facts) throw new Error('warehouse_facts gave no row, expected one');
  return { ...facts, ...(await compareMigrations(db)) };
}

/** The zone of the days in the views of bi, as of the last migrate. */
export const biTimeZone = ({ db }: Warehouse) => scalarOf<string>(db)`select time_zone from sync.settings`;
