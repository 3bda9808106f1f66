/** Lands pages of 100 reviews of 1.4 kB into warehouses that are compared with each other. */
import { checkPage } from '../src/reviews/read/list-page.ts';
import { openWarehouse, statement, type Warehouse } from '../src/warehouse/index.ts';
import { landPage } from '../src/warehouse/reviews/land-reviews.ts';
import { cpuOf } from './processor-time.ts';
import { reviewOf } from './review-of.ts';

export type Landing = { reviews: number; seconds: number; cpuSeconds: number };

const plausible = { start: 0, end: 4_000_000_000 };
const pageSize = 100;

/** The first of the reviews that are landed, and what sets them apart from those of `bi.sql`. */
export type LandingPlan = { firstId: number; from: Date; stepSeconds: number; products: number; firstOrder: number };

function landedReview(plan: LandingPlan, n: number): string {
  const date = new Date(plan.from.getTime() + n * plan.stepSeconds * 1000).toISOString();
  const id = 1 + ((n * 7919) % plan.products);
  const order = n % 5 < 3 ? `order-${plan.firstOrder + n}` : undefined;
  return reviewOf(n, plan.firstId + n, date, { id, code: `product-${id}` }, order);
}

/**
 * Lands the same pages in each warehouse, 20 pages here and 20 there in turn, over two connections each, so that other
 * work on the machine meets all alike.
 *
 * @returns for each warehouse the time by the clock, and the processor time of its two server processes (Linux only).
 */
export async function landInTurn(
  places: readonly { url: string; isCounted?: boolean }[],
  plan: LandingPlan,
  pages: number,
): Promise<Landing[]> {
  const opened = await Promise.all(places.map(openPlace));
  const results: Landing[] = places.map(() => ({ reviews: 0, seconds: 0, cpuSeconds: 0 }));
  const turns = [...opened.entries()];
  for (let at = 0; at < pages; at += 20) {
    const raw = Array.from({ length: 20 }, (_, page) => {
      const reviews = Array.from({ length: pageSize }, (_, n) => landedReview(plan, (at + page) * pageSize + n));
      const rawBody = Buffer.from(`[${reviews.join()}]`);
      return { rawBody, check: checkPage(JSON.parse(rawBody.toString()), plausible, rawBody) };
    });
    // The first warehouse of a turn lands right after the pages were made, which costs it a tenth. So each is first
    // equally often.
    turns.push(...turns.splice(0, 1));
    for (const [index, warehouse] of turns) {
      const result = results[index];
      if (!result) continue;
      // Asked each time, because the pool closes connections that were idle for ten seconds.
      const pids = await pidsOf(warehouse);
      const before = await cpuOf(pids);
      const startedMs = performance.now();
      const landed = await Promise.all(raw.map((page) => landPage(warehouse, page)));
      result.seconds += (performance.now() - startedMs) / 1000;
      const after = await cpuOf(pids);
      result.cpuSeconds += after - before;
      for (const { inserted, updated } of landed) result.reviews += inserted + updated;
    }
  }
  for (const warehouse of opened) await warehouse.close();
  return results;
}

/** A warehouse. With `isCounted` false, its landing statement touches nothing. */
async function openPlace({ url, isCounted = true }: { url: string; isCounted?: boolean }): Promise<Warehouse> {
  const warehouse = await openWarehouse({ url, connections: 2 });
  if (isCounted) return warehouse;
  const text = (await statement('land_reviews'))
    .replace(/^changed as [\s\S]*?\n\),\n/m, '')
    .replace(/^touched as [\s\S]*?\n\),\n/m, '')
    .replace(/^commented as [\s\S]*?\n\),\n/m, '');
  const query = warehouse.pool.query.bind(warehouse.pool) as (given: object) => Promise<unknown>;
  Object.assign(warehouse.pool, { query: (given: object) => query({ ...given, text }) });
  return warehouse;
}

/** The server processes of both connections. */
async function pidsOf(warehouse: Warehouse): Promise<number[]> {
  const clients = await Promise.all([warehouse.pool.connect(), warehouse.pool.connect()]);
  const pids = await Promise.all(clients.map((client) => client.query('select pg_backend_pid() as pid')));
  for (const client of clients) client.release();
  return pids.map(({ rows }) => rows[0].pid);
}
