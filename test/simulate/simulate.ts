import { setTimeout as delay } from 'node:timers/promises';
import type { EmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { createRandom } from '../../src/sandbox/sample-shop/random.ts';
import { patienceMs } from '../harness/patience.ts';
import type { Clock } from './clock.ts';
import { watchContacts } from './contact.ts';
import { ruleWith } from './faults.ts';
import { type Finding, judgeOrders } from './judge-orders.ts';
import { judgeReviews } from './judge-reviews.ts';
import { judgeState } from './judge-state.ts';
import { type Day, type Moment, offsetMs, type Plan } from './plan.ts';
import { serviceEvents } from './service-events.ts';
import { type Event, shopEvents } from './shop-events.ts';
import { command, type End, killableCommand, openStage, type Stage } from './stage.ts';
import { upgrade } from './upgrade.ts';

/** `story`: what happened on the day, line by line. */
export type Failure = { day: number; at: string; findings: Finding[]; story: string[] };
export type Simulated = { days: number; runs: number; failure?: Failure };

export type Hands = {
  server: Pick<EmbeddedDatabase, 'createDatabase'>;
  clock: Clock;
  /** Called after each day, with what happened on it. */
  onDay?: ((day: Day, story: readonly string[]) => void) | undefined;
  /** For tests of the judge: breaks something in secret. */
  sabotage?: (stage: Stage, day: number) => Promise<void>;
};

/** What the simulation knows about the world beside what the databases hold. */
type Memory = {
  unseenOrders: Set<string>;
  unseenReviews: Set<number>;
  absentSince: Map<string, number>;
  differsSince: Map<string, number>;
  refusedOn: number;
  touchesCatalog: boolean;
  runs: number;
  story: string[];
};

const dayMs = 86_400_000;
const events: Readonly<Record<string, Event>> = { ...shopEvents, ...serviceEvents, upgrade };

/**
 * Lives through the days of a plan.
 *
 * 1. Each moment of a day: set the clock, let the events happen, then run commands while a fault strikes. A run of orders or
 *    reviews that ends `done` is judged at once: what it can have seen is at the other side.
 * 2. At the end of the day, without faults: reviews, orders, catalog, reconcile. Then everything is compared.
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
    absentSince: new Map(),
    differsSince: new Map(),
    refusedOn: Number.NEGATIVE_INFINITY,
    touchesCatalog: true,
    runs: 0,
    story: [],
  };
  const at = (day: number, hour: number) => {
    const localMs =
      plan.start.getTime() + offsetMs(plan.setting.zone, plan.start.getTime()) + (day - 1) * dayMs + hour * 3_600_000;
    return new Date(localMs - offsetMs(plan.setting.zone, localMs - offsetMs(plan.setting.zone, localMs)));
  };
  const failed = (day: number, findings: Finding[]): Simulated => ({
    days: day,
    runs: memory.runs,
    failure: { day, at: new Date().toISOString(), findings, story: memory.story },
  });
  try {
    await events.takeBackup?.(stage, createRandom(0));
    for (const day of plan.days) {
      memory.story = [];
      for (const moment of day.moments) {
        hands.clock.set(at(day.number, moment.hour));
        await happen(stage, moment, memory);
        await hands.sabotage?.(stage, day.number);
        if (day.isOffline) continue;
        const findings = [...(await runMoment({ stage, watch, memory, day }, moment)), ...watch.take()];
        if (findings.length > 0) return failed(day.number, findings);
      }
      if (!day.isOffline) {
        hands.clock.set(at(day.number, 20));
        const findings = [...(await endDay({ stage, watch, memory, day })), ...watch.take()];
        if (findings.length > 0) return failed(day.number, findings);
      }
      hands.onDay?.(day, memory.story);
    }
    return { days: plan.days.length, runs: memory.runs };
  } finally {
    await stage.close();
  }
}

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

type Now = { stage: Stage; watch: ReturnType<typeof watchContacts>; memory: Memory; day: Day };

async function runMoment(now: Now, moment: Moment): Promise<Finding[]> {
  const stopping = new AbortController();
  if (moment.fault?.kind === 'recordIsRefused') now.memory.refusedOn = now.day.number;
  now.stage.proxy.use(ruleWith(now.stage, now.watch, moment.fault, { stop: () => stopping.abort() }));
  const isKilled = moment.fault?.kind === 'isKilled';
  const ends = await Promise.all(moment.runs.map((run) => runOne(now, run, { isKilled, stop: stopping.signal })));
  now.stage.setServiceClock(0);
  const isDone = (flow: string) => ends.some((end) => end.status === 0 && end.args[1] === flow);
  const judged = await Promise.all([
    isDone('orders')
      ? judgeOrders(now.stage, { ...factsOf(now), unseen: now.memory.unseenOrders, isReconciled: false })
      : [],
    isDone('reviews')
      ? judgeReviews(now.stage, { ...factsOf(now), unseen: now.memory.unseenReviews, isReconciled: false })
      : [],
  ]);
  return [...ends.flatMap(judgeEnd), ...judged.flat()];
}

const factsOf = ({ memory: { absentSince, differsSince, refusedOn }, day }: Now) => ({
  absentSince,
  differsSince,
  refusedOn,
  day: day.number,
});

type HowToRun = {
  /** Ends the command: by SIGKILL, or as SIGTERM does. */
  isKilled: boolean;
  stop: AbortSignal;
};

async function runOne(now: Now, run: Moment['runs'][number], { isKilled, stop }: HowToRun): Promise<End> {
  const isWorker = run === 'worker';
  const args = isWorker ? ['worker'] : ['sync', run];
  const signal = isWorker ? AbortSignal.any([stop, AbortSignal.timeout(workerMs)]) : stop;
  return note(now, args, isKilled ? killableCommand(now.stage, args, signal) : command(now.stage, args, signal));
}

/** How long a worker works, in real milliseconds. */
const workerMs = 2500;

/** Adds the end of a command to the story of the day. */
async function note({ memory }: Now, args: readonly string[], running: Promise<End>): Promise<End> {
  memory.runs += 1;
  const startedMs = performance.now();
  const end = await bounded(running, args);
  const said = `${end.stdout} ${end.stderr}`.replace(/\s+/g, ' ').trim();
  memory.story.push(
    `  ${args.join(' ')}: ${end.status} after ${Math.round(performance.now() - startedMs)} ms. ${said}`,
  );
  return end;
}

/**
 * No command may take longer, in real time: what never ends is a failure, too. A run waits up to 180 s for the lease of an order to
 * which the service may still be doing something.
 */
const longestRunMs = patienceMs(300);

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
async function endDay(now: Now): Promise<Finding[]> {
  const { stage, memory } = now;
  stage.proxy.use(ruleWith(stage, now.watch, undefined, { stop: () => {} }));
  const findings: Finding[] = [];
  const run = async (...args: string[]) => {
    const end = await note(now, ['sync', ...args], command(stage, ['sync', ...args]));
    findings.push(...judgeEnd(end));
    return end;
  };
  if (memory.touchesCatalog) await run('catalog');
  memory.touchesCatalog = false;
  const reviews = await run('reviews');
  let orders = await run('orders');
  findings.push(...(await judgeOrders(stage, { ...factsOf(now), unseen: memory.unseenOrders, isReconciled: false })));
  findings.push(...(await judgeReviews(stage, { ...factsOf(now), unseen: memory.unseenReviews, isReconciled: false })));
  if (findings.length > 0) return findings;
  let reconcile = await run('reconcile');
  const said = `${orders.stderr}${orders.stdout}${reconcile.stderr}${reconcile.stdout}`;
  // Somebody reads what the runs say, and does it: then the second run must be complete.
  if (said.includes('sync orders --allow-removals')) orders = await run('orders', '--allow-removals');
  if (said.includes('sync reconcile --allow-removals')) reconcile = await run('reconcile', '--allow-removals');
  memory.unseenOrders.clear();
  memory.unseenReviews.clear();
  const facts = { ...factsOf(now), isReconciled: true };
  findings.push(...(await judgeOrders(stage, { ...facts, unseen: memory.unseenOrders })));
  findings.push(...(await judgeReviews(stage, { ...facts, unseen: memory.unseenReviews })));
  findings.push(...(await judgeState(stage, [reviews, orders, reconcile], now.day.number)));
  return findings;
}
