import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../src/sandbox/embedded-postgres/index.ts';
import type { Random } from '../../src/sandbox/sample-shop/random.ts';
import type { End, Stage } from './stage.ts';

const secret = 'a-secret-part-of-the-path';

/** The variables with which `serve` receives webhooks at the address. */
export async function receiver(): Promise<{ address: string; environment: Record<string, string> }> {
  const port = String(await freePort());
  return {
    address: `http://127.0.0.1:${port}/webhooks/${secret}`,
    environment: { PORT: port, WEBHOOK_SECRET: secret },
  };
}

type Event = { id: number; updated_at: string };

/**
 * Sends the webhooks of the reviews that changed in the last days, as the service does on a bad day: some are lost,
 * some are repeated, they come in any order, and some carry the date of an older version. A webhook that is refused is
 * sent again.
 *
 * @returns ids of the reviews of which at least one event was accepted.
 */
export async function sendWebhooks(
  { atService }: Stage,
  random: Random,
  { address, running }: { address: string; running: Promise<End> },
): Promise<Set<number>> {
  const changed = await atService(`select id::integer as id, to_json(updated_at) #>> '{}' as updated_at
    from reference_service.reviews
    where updated_at > clock_timestamp() - interval '3 days' and created_at >= '2000-01-01' order by id limit 60`);
  const events = changed.flatMap((row): Event[] => {
    const event = { id: Number(row.id), updated_at: String(row.updated_at) };
    const older = { ...event, updated_at: new Date(Date.parse(event.updated_at) - 3_600_000).toISOString() };
    return random.pick([[], [event], [event], [event, event], [event, older], [older]]);
  });
  const inAnyOrder = events.map((event) => ({ event, at: random.next() })).sort((a, b) => a.at - b.at);
  const accepted = new Set<number>();
  const hasEnded = endOf(running);
  for (let left = inAnyOrder.map(({ event }) => event); left.length > 0; ) {
    const some = left.slice(0, random.integer(1, 5));
    left = left.slice(some.length);
    for (let attempt = 1; attempt <= 300 && !hasEnded(); attempt += 1) {
      const status = await post(address, [{ brand_id: 1, reviews: some }]);
      if (status === 200) for (const { id } of some) accepted.add(id);
      if (status === 200) break;
      // Not listening yet, or its warehouse fails over.
      await delay(20);
    }
  }
  return accepted;
}

/** Whether a command has ended. */
function endOf(running: Promise<End>): () => boolean {
  let hasEnded = false;
  void running.then(() => {
    hasEnded = true;
  });
  return () => hasEnded;
}

async function post(address: string, body: unknown): Promise<number | undefined> {
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}

/** A reading that fails is given up after ten seconds: what waits for longer is tried again later. */
const readingMs = 15_000;

/** Waits until every accepted webhook is applied or is to be tried again later. @returns whether all are applied. */
export async function areApplied({ warehouse }: Stage, running: Promise<End>): Promise<boolean> {
  const hasEnded = endOf(running);
  for (let dueAtMs = performance.now(); ; ) {
    const [inbox] = await warehouse(`select count(*)::integer as waiting,
      count(*) filter (where due_at <= now())::integer as due from sync.changed_reviews`);
    if (inbox?.due !== 0) dueAtMs = performance.now();
    const isOver = hasEnded() || performance.now() - dueAtMs > readingMs;
    if (isOver || inbox?.waiting === 0) return inbox?.waiting === 0;
    await delay(20);
  }
}
