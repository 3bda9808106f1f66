import { counted } from '../base/counts.ts';
import type { ShopDatabase } from './open-database.ts';
import {
  databaseNow,
  type ExplainedStatement,
  type OrderQueries,
  orderKeys,
  rowsByKey,
  type ShopSession,
  sampleCodes,
} from './session.ts';
import { isShopCancelled, isUncomputable } from './shop-errors.ts';

/** A statement of a run, and its cost today. `purpose` follows "reads … to". */
export type QueryCost = ExplainedStatement & { purpose: string };

/** Fewer orders than a slice: for 500, Postgres reads all of a table of 30,000 rows although it has an index. */
const size = 200;

/**
 * Explains and times each statement of the order queries as a run sends it: orders and lines of a slice by code, the
 * changes of the last ten minutes, the first push, the rescan. A statement that takes longer than 30 s has no
 * `seconds`. A statement that fails on the data of a row is left out: a run then reads fewer rows at a time.
 *
 * @param sample codes of some orders of the shop, at most 200. MariaDB does not escape quotes in its plans, so codes
 *   with quotes are left out.
 */
export async function explainQueries(
  { read }: ShopDatabase,
  { orders, lines, feed }: OrderQueries,
  sample: readonly string[],
): Promise<QueryCost[]> {
  const plain = sample.filter((code) => !/["'\\]/.test(code));
  const codes = plain.length > 0 ? plain : sample;
  const costs: QueryCost[] = [];
  async function explain(purpose: string, work: (session: ShopSession) => Promise<unknown>) {
    const explained: ExplainedStatement[] = [];
    try {
      await read(work, { explained });
    } catch (error) {
      if (isUncomputable(error)) return;
      // The statement was explained before it was cancelled.
      if (!isShopCancelled(error)) throw error;
    }
    costs.push(...explained.map((one) => ({ ...one, purpose })));
  }
  const now = await read(databaseNow);
  const minutesAgo = (minutes: number) => {
    return { at: new Date(Date.parse(now) - minutes * 60_000).toISOString(), code: '' };
  };
  await explain(`find ${counted(codes.length, 'order')} by code`, (session) =>
    rowsByKey(session, orders, 'code', codes),
  );
  await explain(`find the lines of ${counted(codes.length, 'order')}`, (session) =>
    rowsByKey(session, lines, 'order_code', codes),
  );
  await explain('find what changed in the last ten minutes', (session) =>
    orderKeys(session, feed ?? orders, { axis: 'updated', after: minutesAgo(10), size }),
  );
  // Nearly all orders of the shop come after the oldest.
  const [oldest = ''] = await read((session) => sampleCodes(session, orders, 'oldest', 1));
  await explain('go on with a first push by code', (session) =>
    orderKeys(session, orders, { axis: 'code', after: { at: '', code: oldest }, size }),
  );
  await explain('rescan orders by created_at', (session) =>
    orderKeys(session, orders, { axis: 'created', after: minutesAgo(60 * 1440), before: now, size }),
  );
  return costs;
}
