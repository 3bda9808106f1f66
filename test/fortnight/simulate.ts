import { setTimeout as delay } from 'node:timers/promises';
import type { EmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { createRandom, type Random } from '../../src/sandbox/sample-shop/random.ts';
import { patienceMs, until } from '../harness/patience.ts';
import type { Clock } from './clock.ts';
import { watchContacts } from './contact.ts';
import { ruleWith } from './faults.ts';
import { type Finding, judgeOrders } from './judge-orders.ts';
import { judgeReviews } from './judge-reviews.ts';
import { judgeState } from './judge-state.ts';
import { type Day, type Moment, offsetMs, type Plan, type Run } from './plan.ts';
import { serviceEvents } from './service-events.ts';
import { type Event, shopEvents } from './shop-events.ts';
import { command, type End, killableCommand, openStage, type Stage } from './stage.ts';
import { areApplied, receiver, sendWebhooks } from './webhooks.ts';

/** `story`: what happened on the day, line by line. */
export type Failure = { day: number; at: string; findings: Finding[]; story: string[] };
export type Simulated = { days: number; tally: Tally; failure?: Failure };

/** What was done so far. */
export type Tally = {
  /** How often commands ended, by name and exit status: `sync orders 0`. */
  ends: Map<string, number>;
  /** How often the sides were compared, by what: `orders`. */
  comparisons: Map<string, number>;
};

export type Hands = {
  server: Pick<EmbeddedDatabase, 'createDatabase'>;
  clock: Clock;
  /** Called after each day, with what happened on it. */
  onDay?: ((day: Day, story: readonly string[], stage: Stage) => Promise<void>) | undefined;
  /** For tests of the judge: breaks something in secret. */
  sabotage?: (stage: Stage, day: number) => Promise<void>;
};

/** What the simulation knows about the world beside what the databases hold. */
type Memory = {
  unseenOrders: Set<string>;
  unseenReviews: Set<number>;
  /** Runs that had not ended on the last quiet evening. */
  openRuns: Set<string>;
  absentSince: Map<string, number>;
  differsSince: Map<string, number>;
  refusedOn: number;
  touchesCatalog: boolean;
  /** As in OrderFacts. */
  backfilled: Set<string>;
  /** Backfills that did not end by themselves: somebody repeats them in the evening. */
  interrupted: Set<Run>;
  /** The comparison that goes on while the next things happen. */
  comparison: Comparison | undefined;
  tally: Tally;
  story: string[];
};

/** A comparison of both sides as they were at a moment. */
type Comparison = Pick<Failure, 'day' | 'at' | 'story'> & { findings: Promise<Finding[]> };

class Failed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.findings.join('; '));
    this.failure = failure;
  }
}

const dayMs = 86_400_000;
const events: Readonly<Record<string, Event>> = { ...shopEvents, ...serviceEvents };

/**
 * Lives through the days of a plan.
 *
 * 1. Each moment of a day: set the clock, let the events happen, then run commands while a fault strikes. After a run
 *    of orders or reviews that ends `done`, both sides are compared: what the run can have seen is at the other side.
 * 2. At the end of the day, without faults: reviews and orders side by side, catalog if it was touched, reconcile, and
 *    a worker if a scheduled run is open. Then everything is compared.
 *
 * A comparison reads snapshots of the databases. What happens next goes on meanwhile and changes nothing of it.
 *
 * @returns the findings of the first moment that has any.
 */
export async function simulate(plan: Plan, hands: Hands): Promise<Simulated> {
  hands.clock.set(plan.start);
  const stage = await openStage(hands.server, plan.setting);
  await requireVirtualTime(stage);
  const watch = watchContacts();
  const memory: Memory = {
    unseenOrders: new Set(),
    unseenReviews: new Set(),
    openRuns: new Set(),
    absentSince: new Map(),
    differsSince: new Map(),
    refusedOn: Number.NEGATIVE_INFINITY,
    touchesCatalog: true,
    backfilled: new Set(),
    interrupted: new Set(),
    comparison: undefined,
    tally: { ends: new Map(), comparisons: new Map() },
    story: [],
  };
  const at = (day: number, hour: number) => {
    const localMs =
      plan.start.getTime() + offsetMs(plan.setting.zone, plan.start.getTime()) + (day - 1) * dayMs + hour * 3_600_000;
    return new Date(localMs - offsetMs(plan.setting.zone, localMs - offsetMs(plan.setting.zone, localMs)));
  };
  const { tally } = memory;
  try {
    await events.takeBackup?.(stage, createRandom(0));
    for (const day of plan.days) {
      memory.story = [];
      const now = { stage, clock: hands.clock, watch, memory, day };
      for (const moment of day.moments) {
        hands.clock.set(at(day.number, moment.hour));
        await happen(stage, moment, memory);
        await hands.sabotage?.(stage, day.number);
        if (!day.isOffline) await runMoment(now, moment);
      }
      if (!day.isOffline) {
        hands.clock.set(at(day.number, 20));
        await endDay(now);
      }
      await hands.onDay?.(day, memory.story, stage);
    }
    await endComparison(memory);
    return { days: plan.days.length, tally };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return { days: error.failure.day, tally, failure: error.failure };
  } finally {
    await memory.comparison?.findings.catch(() => {});
    await stage.close();
  }
}

/** @throws Failed where something was found, now or by the comparison that is still going on. */
async function requireNone({ memory, day }: Now, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return;
  await endComparison(memory);
  throw new Failed({ day: day.number, at: new Date().toISOString(), findings: [...findings], story: memory.story });
}

/** Waits for the comparison that is going on. @throws Failed where it found something. */
async function endComparison(memory: Memory): Promise<void> {
  const { comparison } = memory;
  if (!comparison) return;
  memory.comparison = undefined;
  const findings = await comparison.findings;
  if (findings.length > 0) throw new Failed({ ...comparison, findings });
}

const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

async function requireVirtualTime({ shop }: Stage): Promise<void> {
  const [row] = await shop('select extract(epoch from clock_timestamp())::float8 as seconds');
  const apart = Math.abs(Number(row?.seconds) - Date.now() / 1000);
  if (apart > 60)
    throw new Error(`the clocks of Postgres and Node are ${apart} s apart: Postgres is not in virtual time`);
}

async function happen(stage: Stage, moment: Moment, memory: Memory): Promise<void> {
  const kinds = moment.events.map(({ kind }) => kind).join(', ');
  memory.story.push(`${new Date().toISOString()} ${kinds}; fault: ${moment.fault?.kind ?? 'none'}`);
  for (const { kind, seed } of moment.events) {
    const event = events[kind];
    if (!event) throw new Error(`no event ${kind}`);
    const effect = await event(stage, createRandom(seed));
    for (const code of effect.unseenOrders ?? []) memory.unseenOrders.add(code);
    for (const id of effect.unseenReviews ?? []) memory.unseenReviews.add(id);
    memory.touchesCatalog ||= effect.touchesCatalog === true;
  }
}

type Now = { stage: Stage; clock: Clock; watch: ReturnType<typeof watchContacts>; memory: Memory; day: Day };

async function runMoment(now: Now, moment: Moment): Promise<void> {
  const stopping = new AbortController();
  if (moment.fault?.kind === 'recordIsRefused') now.memory.refusedOn = now.day.number;
  now.stage.proxy.use(ruleWith(now.stage, now.watch, moment.fault, { stop: () => stopping.abort() }));
  const how = {
    isKilled: moment.fault?.kind === 'isKilled',
    stop: stopping.signal,
    seed: Math.floor(moment.hour * 1e6),
  };
  await expectBackfill(now, moment.runs);
  const ended = await Promise.all(moment.runs.map((run) => runOne(now, run, how)));
  backfillEnded(now);
  const ends = ended.map(({ end }) => end);
  now.stage.setServiceClock(0);
  const isDone = (flow: string) => ends.some((end) => end.status === 0 && end.args[1] === flow);
  const flows = (['orders', 'reviews'] as const).filter(isDone);
  const found = ended.flatMap(({ findings = [] }) => findings);
  await requireNone(now, [...ends.flatMap(judgeEnd), ...found, ...now.watch.take()]);
  await compare(now, { flows });
}

type ToCompare = {
  flows: readonly ('orders' | 'reviews')[];
  /**
   * On a quiet evening after a reconcile: the runs must have found also what no query of changes shows. These were the
   * last ones.
   */
  quietEnds?: readonly End[];
};

/** Begins to compare both sides as they are now. */
async function compare({ stage, memory, day }: Now, { flows, quietEnds }: ToCompare): Promise<void> {
  await endComparison(memory);
  if (flows.length === 0) return;
  for (const flow of flows) add(memory.tally.comparisons, flow);
  const { absentSince, differsSince, refusedOn } = memory;
  const isReconciled = quietEnds !== undefined;
  const facts = {
    absentSince,
    differsSince,
    refusedOn,
    day: day.number,
    isReconciled,
    backfilled: new Set(memory.backfilled),
  };
  const unseen = { orders: new Set(memory.unseenOrders), reviews: new Set(memory.unseenReviews) };
  const { sides, release } = await stage.freeze();
  const judged = [
    flows.includes('orders') ? judgeOrders(sides, { ...facts, unseen: unseen.orders }) : [],
    flows.includes('reviews') ? judgeReviews(sides, { ...facts, unseen: unseen.reviews }) : [],
    quietEnds ? judgeState(sides, { ends: quietEnds, day: day.number, openRuns: memory.openRuns }) : [],
  ];
  const findings = Promise.all(judged)
    .then((found) => found.flat())
    .finally(release);
  memory.comparison = { day: day.number, at: new Date().toISOString(), story: memory.story, findings };
  findings.catch(() => {});
}

type HowToRun = {
  /** For the choices of `serve`. */
  seed: number;
  /** Ends the command: by SIGKILL, or as SIGTERM does. */
  isKilled: boolean;
  stop: AbortSignal;
};

async function runOne(
  now: Now,
  run: Run,
  { isKilled, stop, seed }: HowToRun,
): Promise<{ end: End; findings?: Finding[] }> {
  const start = (args: readonly string[], signal: AbortSignal, environment: Record<string, string> = {}) => {
    const stage = { ...now.stage, environment: { ...now.stage.environment, ...environment } };
    const inTime = now.clock.environment();
    const end = isKilled ? killableCommand(stage, args, signal, inTime) : command(stage, args, signal);
    return note(now, args, end);
  };
  if (run === 'serve') return serveWebhooks(now, start, { stop, random: createRandom(seed) });
  if (run === 'worker') return { end: await start(['worker'], AbortSignal.any([stop, AbortSignal.timeout(workerMs)])) };
  if (!run.startsWith('backfill')) return { end: await start(['sync', run], stop) };
  const end = await start(run.split(' '), stop);
  if (end.status !== 0) now.memory.interrupted.add(run);
  return { end };
}

/**
 * Says to the watch what may be disclosed. A command also finishes runs that others left, which may disclose more than
 * a backfill.
 */
async function expectBackfill({ stage, watch, memory }: Now, runs: readonly Run[]): Promise<void> {
  if (!runs.includes('backfill orders') && !memory.interrupted.has('backfill orders')) return;
  for (const { code } of await stage.shop('select code from orders')) memory.backfilled.add(String(code));
  const [left] = await stage.warehouse(`select 1 from sync.runs where finished_at is null limit 1`);
  watch.expectBackfill(left || runs.some((run) => run !== 'backfill orders') ? 'also' : 'only');
}

/** What follows is no backfill. */
const backfillEnded = ({ watch }: Now): void => watch.expectBackfill('nothing');

type Start = (args: readonly string[], signal: AbortSignal, environment: Record<string, string>) => Promise<End>;

/**
 * `serve` while the service sends webhooks. What was accepted and applied must be in the warehouse in its newest
 * version.
 */
async function serveWebhooks(
  { stage, memory, day }: Now,
  start: Start,
  { stop, random }: { stop: AbortSignal; random: Random },
): Promise<{ end: End; findings: Finding[] }> {
  const { address, environment } = await receiver();
  const served = new AbortController();
  const running = start(['serve'], AbortSignal.any([stop, served.signal]), environment);
  const only = await sendWebhooks(stage, random, { address, running });
  const isApplied = await areApplied(stage, running);
  served.abort();
  const end = await running;
  if (!isApplied) return { end, findings: [] };
  add(memory.tally.comparisons, 'reviews of webhooks');
  const facts = { unseen: memory.unseenReviews, only, isReconciled: false, differsSince: new Map(), day: day.number };
  return { end, findings: await judgeReviews(stage, facts) };
}

/** How long a worker works, in real milliseconds. */
const workerMs = 2500;

/** Adds the end of a command to the story of the day. */
async function note({ memory }: Now, args: readonly string[], running: Promise<End>): Promise<End> {
  const startedMs = performance.now();
  const end = await bounded(running, args);
  add(memory.tally.ends, `${args.join(' ')} ${end.status}`);
  const said = `${end.stdout} ${end.stderr}`.replace(/\s+/g, ' ').trim();
  memory.story.push(
    `  ${args.join(' ')}: ${end.status} after ${Math.round(performance.now() - startedMs)} ms. ${said}`,
  );
  return end;
}

/**
 * No command may take longer, in real time: what never ends is a failure, too. A run waits up to ORDER_LEASE_SECONDS
 * for the lease of an order to which the service may still be doing something.
 */
const longestRunMs = patienceMs(120);

async function bounded(end: Promise<End>, args: readonly string[]): Promise<End> {
  const ended = new AbortController();
  const hangs = delay(longestRunMs, undefined, { signal: ended.signal }).then(
    (): End => ({ args, status: 3, stdout: '', stderr: `has not ended after ${longestRunMs / 1000} s` }),
    () => end,
  );
  const first = await Promise.race([end, hangs]);
  ended.abort();
  return first;
}

function judgeEnd({ args, status, stderr }: End): Finding[] {
  const name = args.join(' ');
  if (/^\s+at .*[:(]\d+/m.test(stderr)) return [`${name} ended with a stack trace: ${stderr}`];
  if (status > 1) return [`${name} ended with status ${status}: ${stderr}`];
  return [];
}

/** A quiet evening: all runs must end, and what they cannot complete must be somebody's fault. */
async function endDay(now: Now): Promise<void> {
  const { stage, memory } = now;
  stage.proxy.use(ruleWith(stage, now.watch, undefined, { stop: () => {} }));
  const findings: Finding[] = [];
  const run = async (...args: string[]) => {
    const end = await note(now, args, command(stage, args));
    findings.push(...judgeEnd(end));
    return end;
  };
  for (const backfill of memory.interrupted) {
    memory.interrupted.delete(backfill);
    await expectBackfill(now, [backfill, 'orders']);
    await run(...backfill.split(' '));
  }
  backfillEnded(now);
  const needsCatalog = memory.touchesCatalog;
  memory.touchesCatalog = false;
  // Side by side, as schedules do. Orders that wait for a grade or for a product are pushed when it is known.
  const [reviews, other] = await Promise.all([
    run('sync', 'reviews'),
    run('sync', needsCatalog ? 'catalog' : 'orders'),
  ]);
  const mayKnowMore = needsCatalog || (await areLinesWaiting(stage));
  let orders = mayKnowMore ? await run('sync', 'orders') : other;
  const flows = ['orders', 'reviews'] as const;
  await requireNone(now, findings);
  await compare(now, { flows });
  let reconcile = await run('sync', 'reconcile');
  // Its two runs are independent: a review that came late may name the product of a line that the other had read
  // before. It may also have closed a dead letter that made the run of orders incomplete.
  const mayBeDone = orders.status !== 0 && reconcile.status === 0;
  if (mayBeDone || (await areProductsKnown(stage))) orders = await run('sync', 'orders');
  const said = `${orders.stderr}${orders.stdout}${reconcile.stderr}${reconcile.stdout}`;
  // Somebody reads what the runs say, and does it: then the second run must be complete.
  if (said.includes('sync orders --allow-removals')) {
    orders = await run('sync', 'orders', '--allow-removals');
  }
  if (said.includes('sync reconcile --allow-removals')) {
    reconcile = await run('sync', 'reconcile', '--allow-removals');
  }
  const worker = await endScheduledRuns(now);
  if (worker) findings.push(...judgeEnd(worker));
  memory.unseenOrders.clear();
  memory.unseenReviews.clear();
  await requireNone(now, [...findings, ...now.watch.take()]);
  await compare(now, { flows, quietEnds: [reviews, orders, reconcile] });
}

/**
 * Commands leave scheduled runs to workers. Where a worker was stopped or killed before its runs ended, another one
 * works until they have. The judge names a run that stays open all the same.
 */
async function endScheduledRuns(now: Now): Promise<End | undefined> {
  const openSql = `select from sync.runs where finished_at is null and started_by = 'schedule'`;
  const haveEnded = async () => (await now.stage.warehouse(openSql)).length === 0;
  if (await haveEnded()) return undefined;
  const stopping = new AbortController();
  const working = note(now, ['worker'], command(now.stage, ['worker'], stopping.signal));
  await until(haveEnded, 10).catch(() => {});
  stopping.abort();
  return await working;
}

async function areLinesWaiting({ warehouse }: Stage): Promise<boolean> {
  return (await warehouse('select from sync.order_links where waiting_lines is not null limit 1')).length > 0;
}

async function areProductsKnown({ warehouse }: Stage): Promise<boolean> {
  const arrived = `select from sync.order_links, jsonb_each_text(waiting_lines) join sync.product_links on product_code = value limit 1`;
  return (await warehouse(arrived)).length > 0;
}
