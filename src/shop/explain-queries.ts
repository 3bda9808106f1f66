import { columnsOf } from './queries.ts';
import type { ExplainedStatement, OrderPosition, ShopQuery, ShopSession } from './session.ts';
import { isShopTimeout } from './shop-timeout.ts';

/** What a run reads with one statement, and what that costs today. `purpose` goes on after "reads … to". */
export type QueryCost = ExplainedStatement & { purpose: string };

type Queries = { orders: ShopQuery; lines: ShopQuery; feed: ShopQuery | undefined };
type TracedRead = (
  work: (session: ShopSession) => Promise<unknown>,
  explained: ExplainedStatement[],
) => Promise<unknown>;

/** Orders of a slice, as a run reads them. */
const sliceSize = 200;

/**
 * Explains and times each statement of the order queries as a run sends it: orders and lines of a slice by code, the
 * changes of the last ten minutes, the first push, the rescan. A statement that takes longer than 30 s has no
 * `seconds`. One that fails on the data of a row is left out: a run then reads fewer rows at a time.
 *
 * @param codes some orders of the shop, at most 200.
 */
export async function explainQueries(
  read: TracedRead,
  { orders, lines, feed }: Queries,
  codes: readonly string[],
): Promise<QueryCost[]> {
  const costs: QueryCost[] = [];
  const explain = async (purpose: string, work: (session: ShopSession) => Promise<unknown>) => {
    const explained: ExplainedStatement[] = [];
    let hasBadRow = false;
    try {
      await read(async (session) => {
        hasBadRow = 'dataFault' in (await session.attempt(() => work(session)));
      }, explained);
    } catch (error) {
      // The statement was explained before it was cancelled.
      if (!isShopTimeout(error)) throw error;
    }
    if (!hasBadRow) costs.push(...explained.map((one) => ({ ...one, purpose })));
  };
  const from = (at: string): OrderPosition => ({ at, code: '' });
  const before = (at: string, minutes: number) => new Date(Date.parse(at) - minutes * 60_000).toISOString();
  let now = '';
  await read(async (session) => {
    now = await session.now();
  }, []);
  await explain(`find ${codes.length} orders by code`, (session) =>
    session.rowsByKey(orders, 'code', codes, columnsOf(orders)),
  );
  await explain(`find the lines of ${codes.length} orders`, (session) =>
    session.rowsByKey(lines, 'order_code', codes, columnsOf(lines)),
  );
  await explain('find what changed in the last ten minutes', (session) =>
    feed
      ? session.changes(feed, from(before(now, 10)), sliceSize)
      : session.walk(orders, { axis: 'updated', after: from(before(now, 10)), size: sliceSize }),
  );
  const middle = codes[Math.floor(codes.length / 2)] ?? '';
  await explain('go on with a first push by code', (session) =>
    session.walk(orders, { axis: 'code', after: { at: '', code: middle }, size: sliceSize }),
  );
  await explain('rescan orders by created_at', (session) =>
    session.walk(orders, { axis: 'created', after: from(before(now, 60 * 1440)), before: now, size: sliceSize }),
  );
  return costs;
}
