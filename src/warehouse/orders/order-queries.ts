import { type Db, isAny, rowOf, write } from '../index.ts';

/** `hash`: that of the newest run; null: there was none. `changedAt`: null if all orders were read by these queries. */
export const orderQueriesState = (db: Db) => rowOf<{ hash: string | null; changedAt: Date | null }>(db)`
  select orders_queries as hash, queries_changed_at as "changedAt" from sync.settings`;

/** Records the queries by which a run reads orders. @returns whether orders were read by other queries before. */
export const noteOrderQueries = (db: Db, hash: string) => isAny(db)`
  with noted as (
    update sync.settings
    set orders_queries = ${hash}, queries_changed_at = case when orders_queries is not null then clock_timestamp() end
    where orders_queries is distinct from ${hash}
    returning queries_changed_at
  ) select from noted where queries_changed_at is not null`;

/** All orders were read by these queries, unless another run has found other queries since. */
export const allReadBy = (db: Db, hash: string) => write(db)`
  update sync.settings set queries_changed_at = null
  where orders_queries = ${hash} and queries_changed_at is not null`;
