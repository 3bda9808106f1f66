import { type Db, isAny, rowOf, write } from '../index.ts';

/** `hash`: the queries of the newest run; null: no run yet. `changedAt`: null if these queries have read all orders. */
export const orderQueriesState = (db: Db) => rowOf<{ hash: string | null; changedAt: Date | null }>(db)`
  select orders_queries as hash, queries_changed_at as "changedAt" from sync.settings`;

/** Records the queries of a run that reads orders. @returns whether other queries read orders before. */
export const noteOrderQueries = (db: Db, hash: string) => isAny(db)`
  with noted as (
    update sync.settings
    set orders_queries = ${hash}, queries_changed_at = case when orders_queries is not null then clock_timestamp() end
    where orders_queries is distinct from ${hash}
    returning queries_changed_at
  ) select from noted where queries_changed_at is not null`;

/** These queries have read all orders, unless another run has found other queries since. */
export const allReadBy = (db: Db, hash: string) => write(db)`
  update sync.settings set queries_changed_at = null
  where orders_queries = ${hash} and queries_changed_at is not null`;
