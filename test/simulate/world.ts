import type pg from 'pg';
import { jobs } from '../../jobs/index.ts';
import { orderDeps, reviewDeps } from '../../src/app/deps.ts';
import { retryDeadLetters } from '../../src/app/retry-dead-letters.ts';
import { ownPushRights } from '../../src/app/run-rights.ts';
import { verifyOrders } from '../../src/orders/compare/compare-orders.ts';
import { verifyReviews } from '../../src/reviews/verify/verify-reviews.ts';
import { named } from '../../src/runs/define-run.ts';
import { endRun } from '../../src/runs/end-run.ts';
import { startDueRun, startRun } from '../../src/runs/start-run.ts';
import type { Random } from '../../src/sandbox/sample-shop/random.ts';
import { inBrand } from '../../src/warehouse/brand.ts';
import { readCursor } from '../../src/warehouse/runs/cursors.ts';
import type { RunRights } from '../../src/warehouse/runs/runs.ts';
import type { SimulatedDatabase, StatementFault } from './database.ts';
import { createQueue, doing, type Run } from './driver.ts';
import { type Passage, type Request, useNetwork } from './network.ts';
import * as oracle from './oracle.ts';
import { type Opened, openProcess, originOf, type Settings } from './process.ts';
import { createScheduler, here, type Process, type Scheduler, stepsADay, within } from './scheduler.ts';
import { createService } from './service.ts';
import { createShop, type ShopLine, type ShopOrder } from './shop.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export const startOf = (seed: number) => Date.parse('2026-03-02T01:00:00Z') + (seed % 97) * 977_000;

export type WorldEnd = Awaited<ReturnType<typeof simulateWorld>>;

/** One of the keys, by their weights. */
const oneOf = <Key extends string>(random: Random, weights: Record<Key, number>): Key =>
  random.weighted(Object.entries(weights) as [Key, number][]);

/** What may happen in a world. Each world has a part of it, so that other accidents do not drown a single one. */
function natureOf(random: Random) {
  const has = (share: number) => random.chance(share);
  const reviews = Number(oneOf(random, { 0: 8, 6: 2, 40: 1, 260: 1 }));
  return {
    orders: Number(oneOf(random, { 1: 5, 2: 4, 4: 2, 10: 1, 25: 0.4 })),
    episodes: Number(oneOf(random, { 1: 3, 2: 1 })),
    faults: random.pick([0, 0.02, 0.08, 0.25]),
    lostCreations: has(0.5),
    lateCreations: has(0.4),
    refusals: has(0.2),
    stubborn: has(0.2),
    slow: has(0.3),
    outages: has(0.2),
    kills: has(0.45),
    freezes: has(0.35),
    brokenStatements: has(0.25),
    secondWorker: has(0.5),
    backfill: has(0.35),
    backfillFirst: has(0.25),
    withEmail: has(0.2),
    repair: has(0.2),
    retry: has(0.3),
    allowRemovals: has(0.15),
    changes: has(0.75),
    lineCodes: has(0.35),
    removals: has(0.4),
    /** The second episode comes an hour after the first, and not after a quiet day. */
    hourly: has(0.3),
    massRemovals: has(0.06),
    emptied: has(0.2),
    deletions: has(0.3),
    imported: has(0.2),
    vanishing: has(0.2),
    returns: has(0.3),
    contactChanges: has(0.3),
    lateCommits: has(0.25),
    undated: has(0.15),
    foreign: has(0.25),
    reviewed: has(0.3),
    cursed: has(0.12),
    growOld: has(0.25),
    clockErrors: has(0.15),
    otherSettings: has(0.15),
    endsRuns: has(0.2),
    deletes: random.pick(['off', 'send'] as const),
    feed: has(0.3),
    contactMaxAgeDays: random.pick([0, 1, 3, 30]),
    emptyValues: oneOf(random, { clear: 8, ignored: 1, refused: 1 }),
    money: random.pick([1, 100] as const),
    reviews,
    pageSize: random.pick([100, 20]),
    failingReview: has(0.15),
    /** All of them within some days, and more than a page shows. */
    crowded: has(0.4),
    link: random.pick(['always', 'not on the last'] as const),
    shortTokens: has(0.15),
    batchSize: random.pick([2, 50]),
    /**
     * In a world with brands: nothing responds at the service, or each query of the shop fails, as long as it storms.
     */
    deadService: false,
    brokenQuery: false,
    /** Nothing happens to it except to its processes: each of its runs must end as done. */
    healthy: false,
  };
}
export type Nature = ReturnType<typeof natureOf>;

/** What the installation and the service are: it stays through all days of a long world. */
const lasting =
  `orders reviews cursed otherSettings deletes feed contactMaxAgeDays emptyValues money deadService brokenQuery
  healthy pageSize link failingReview shortTokens batchSize growOld massRemovals`.split(/\s+/);

/** What a brand shares with the others of its world: time and the server. */
export type Among = {
  brand: string;
  scheduler: Scheduler;
  /** Waits until all brands have come so far. */
  meet(what: string): Promise<void>;
  /**
   * A storm of the brand begins, the first of the world as number 0.
   *
   * @param disown to be called where a backup is restored: what was created since that moment is a stranger's from then
   *   on.
   */
  onStorm(storm: number, lengthMs: number, disown: (sinceMs: number) => void): void;
};

/**
 * Lives one small world through and compares what is there with what must be.
 *
 * @param given parts of its nature that are not left to the seed. @param days of a long world: each has a storm of its
 *   own, new orders and reviews, and a quiet evening on which everything must be as it should.
 * @param among where it is one of several brands. @returns `nature`: the choices that make this world.
 */
export async function simulateWorld(
  seed: number,
  database: SimulatedDatabase,
  warehouseUrl: string,
  given: Partial<Nature> = {},
  days = 0,
  among?: Among,
) {
  const scheduler = among?.scheduler ?? createScheduler(seed, startOf(seed), stepsADay * Math.max(1, days));
  const brand = among?.brand;
  const origin = originOf(brand);
  const { random, tell, now } = scheduler;
  const at = (ms: number, run: () => unknown) => scheduler.add(ms, run, null);
  const nature: Nature = { ...natureOf(random.fork(`nature${brand ?? ''}`)), ...given };
  if (!among) await database.reset();
  const statementsBefore = database.counts.statements;
  const findings: oracle.Findings = [];
  const settings: Settings = {
    ...nature,
    rescanDays: 7,
    // If a run reads something again by chance, that hides what another has missed. A change is seen at most 8 minutes
    // late.
    overlapMinutes: days > 0 || nature.lateCommits || nature.clockErrors ? 15 : 1,
  };
  const codes = Array.from({ length: nature.orders }, (_, at) => `O${at + 1}`);
  const cursed = nature.cursed ? random.sample(codes, 2) : [];
  const service = createService(
    {
      ...nature,
      refusedOrders: new Set(cursed.slice(0, 1)),
      failingOrders: new Set(cursed.slice(1)),
      failingStatus: random.pick([500, 500, 429, 403]),
      refusedProducts: new Set(nature.cursed ? [4] : []),
      tokenLifeMs: nature.shortTokens ? 3 * minuteMs : 30 * dayMs,
    },
    now,
  );
  const shop = createShop(scheduler, {
    hasFeed: nature.feed,
    isBroken: () => isStormy && nature.brokenQuery,
    onOrders: outdate,
  });
  const queue = createQueue(scheduler);
  const processes = new Map<string, Opened>();
  const firstPosts = new Map<string, oracle.FirstPost>();
  const repairsMs: number[] = [];
  /** Orders with a creation that may still arrive, or that has left a copy: the shop leaves them alone. */
  const untouchable = new Set<string>();
  const undated = new Set<string>();
  /** Orders that came into the shop long after their dates: only a backfill reads them. */
  const imported = new Set<string>();
  /** Creations that are still on their way. */
  const onTheirWay: { code: string; arrive(): void }[] = [];
  /** One kind of request about an order brings the same failure for a while. */
  let obstacle = { code: '', method: '', untilMs: 0, status: 500 };
  /** Processes that open, or carry out a command that is no run. */
  const busy = new Set<Process>();
  let [isStormy, outageUntilMs, names] = [false, 0, 0];

  const pass = (ms: number): Promise<void> =>
    scheduler.done(new Promise<void>((resolve) => void at(ms, resolve)), 'time passes', ms + hourMs);

  async function open(kind: string, ofProcess: Settings = settings): Promise<Opened> {
    names += 1;
    const clockErrorMs = nature.clockErrors && random.chance(0.5) ? random.integer(-50, 50) * minuteMs : 0;
    const name = kind === 'settles' ? kind : `${kind}${names}`;
    const process: Process = { name, scheduler, isDead: false, frozenUntilMs: 0, clockErrorMs };
    const ahead = clockErrorMs === 0 ? '' : `, its clock ${clockErrorMs / minuteMs} minutes ahead`;
    tell(`starts${ahead}`, process);
    busy.add(process);
    const from = { settings: ofProcess, shop: shop.shop, queues: queue.queues, warehouseUrl, brand };
    const opened = await openProcess(process, from).catch((error: unknown) => {
      process.isDead = true;
      busy.delete(process);
      throw error;
    });
    busy.delete(process);
    processes.set(name, opened);
    return opened;
  }

  const kill = async ({ process }: Opened, how: string): Promise<void> => {
    tell(how, process);
    process.isDead = true;
    await database.kill(process);
    queue.lookAgain();
  };

  // --- The way to the service.

  const respondMs = () =>
    nature.slow && isStormy && random.chance(0.2) ? random.next() * 4900 : 4 + random.next() * 60;

  function passage(process: Process, request: Request): Passage {
    const { method, path, form } = request;
    noteFirstPost(process, request);
    const isList = method === 'GET' && path === '/v1/reviews';
    if (isStormy && isList && random.chance(0.1)) at(random.next() * 100, review);
    if (isStormy && request.method !== 'GET') disturb(process, orderOf(request), 1);
    const answersMs = respondMs();
    const arrivesMs = random.next() * answersMs;
    if (!isStormy) return { arrivesMs: 1, answersMs: 2 + random.next() * 8 };
    if (outageUntilMs > now()) {
      return random.pick<Passage>([
        { arrivesMs: undefined, answersMs: 1, fails: 'refused' },
        { arrivesMs: undefined, answersMs: undefined, fails: 'connect timeout' },
        { arrivesMs: undefined, answersMs, instead: { status: 503, body: '<html>down</html>' } },
      ]);
    }
    const isSubOrder = path.includes('/sub_orders');
    const isCreation = method === 'POST' && isSubOrder;
    const code = orderOf(request) ?? '';
    // The worst moment for what is late: between a look at the order and the next creation.
    if (isCreation && random.chance(0.4))
      for (const one of onTheirWay.splice(0)) if (one.code === code) at(0, one.arrive);
    if (isSubOrder && obstacle.untilMs > now() && obstacle.code === code && obstacle.method === method)
      return { arrivesMs: undefined, answersMs, instead: { status: obstacle.status, body: { error: 'it fails' } } };
    const share = isCreation && nature.lostCreations ? Math.max(0.35, nature.faults) : nature.faults;
    if (!random.chance(share)) return { arrivesMs, answersMs };
    const isWrite = method !== 'GET' && path !== '/oauth/token';
    const isOfOrders = isSubOrder || path === '/v1/orders';
    const isRefusable = isOfOrders && isWrite && (form.get('code') !== null) !== isSubOrder;
    const instead = (status: number, body: unknown = { error: 'it fails' }, headers = {}): Passage => {
      return { arrivesMs: undefined, answersMs, instead: { status, body, headers } };
    };
    const kind = random.weighted<Passage | 'late'>([
      [{ arrivesMs: undefined, answersMs, fails: 'reset' }, 2],
      [{ arrivesMs, answersMs, fails: 'reset' }, 3],
      [{ arrivesMs: undefined, answersMs: undefined }, 1],
      [{ arrivesMs, answersMs: undefined }, 1],
      [instead(500), 2],
      [{ ...instead(502, '<html>bad gateway</html>'), arrivesMs }, 2],
      [instead(503, undefined, { 'retry-after': '7' }), 1],
      [instead(429, undefined, { 'retry-after': '3' }), 1],
      [{ arrivesMs: undefined, answersMs, fails: 'refused' }, 1],
      [{ arrivesMs: undefined, answersMs: undefined, fails: 'connect timeout' }, 0.5],
      [instead(200, '<html>please log in</html>'), isWrite ? 1 : 0.3],
      [instead(422), nature.refusals && isRefusable ? 3 : 0],
      ['late', isCreation && nature.lateCreations ? 8 : 0],
    ]);
    return kind === 'late' ? late(process, request) : kind;
  }

  /** A creation that brings no response and is carried out minutes later, unless the shop has changed the order. */
  function late(process: Process, request: Request): Passage {
    const { sentMs } = request;
    const code = orderOf(request) ?? '';
    if (shop.changedMs(code) > sentMs - 10 * minuteMs) return { arrivesMs: undefined, answersMs: 100, fails: 'reset' };
    untouchable.add(code);
    let isOver = false;
    const arrive = () => {
      if (isOver) return;
      isOver = true;
      const { status } = service.serve(process, request);
      tell(`service carries out ${request.method} ${request.path}, late: ${status}`, process);
    };
    onTheirWay.push({ code, arrive });
    at(random.integer(1, 50) * minuteMs, arrive);
    return { arrivesMs: undefined, answersMs: random.pick([100, undefined]), fails: 'reset' };
  }

  const orderOf = ({ path, form }: Request): string | undefined =>
    form.get('code') ?? service.orders.get(Number(path.split('/')[3]))?.code;

  /** Accidents come while work is under way: a process dies or freezes in the middle, the shop changes the order. */
  function disturb(process: Process, code: string | undefined, weight: number): void {
    // A process that took over from a frozen one dies too, before it has recorded what it sent.
    const isAlone = alive().every((one) => one.process === process || one.process.frozenUntilMs <= now());
    if (nature.kills && accidents > 0 && random.chance((isAlone ? 0.06 : 0.5) * weight)) {
      accidents -= 1;
      at(random.next() * random.pick([5, 60, 1500]), async () => {
        const one = alive().find((other) => other.process === process);
        if (!one) return;
        await kill(one, 'is killed');
        changeMeanwhile(code);
        at(random.integer(1, 40) * 1000, () => start(startWorker()));
      });
    }
    if (nature.endsRuns && accidents > 0 && random.chance(0.05 * weight)) {
      accidents -= 1;
      at(random.next() * 50, endSomeRun);
    }
    if (nature.freezes && accidents > 0 && random.chance(0.08 * weight)) {
      accidents -= 1;
      at(random.next() * random.pick([0, 5, 60]), () => {
        freeze(process);
        changeMeanwhile(code);
      });
    }
    if (nature.changes && code !== undefined && random.chance(0.12 * weight))
      at(random.next() * random.pick([50, 5000, 60_000]), () => changeOrder(code));
  }
  let accidents = 0;

  /** The shop changes what a process was about to send, and another process reads it while the first is gone. */
  function changeMeanwhile(code: string | undefined, share = 0.6): void {
    if (!nature.changes || !random.chance(share)) return;
    const isDeleted = nature.deletions && random.chance(0.4);
    const changedMs = random.next() * random.pick([1000, 20_000, 60_000]);
    at(changedMs, () => changeOrder(code, isDeleted ? 'is marked as deleted' : undefined));
    at(changedMs + random.integer(10, 40) * 1000, () => {
      if (random.chance(0.5)) startDue('sync-orders');
      else start(runCommand('sync-orders'));
    });
  }

  /** A process is frozen when it has just read orders. It then goes on although others know newer versions. */
  function outdate(codes: readonly string[]): void {
    const reader = here.getStore();
    // The process pushes orders that changed. Others can know a newer version only of an order that was pushed before.
    const toPush = codes.filter((one) => firstPosts.has(one) && shop.changedMs(one) > now() - 3 * minuteMs);
    if (!reader || toPush.length === 0 || !isStormy || !nature.freezes || !random.chance(0.4)) return;
    // One accident for the process that takes over.
    accidents += 1;
    // The process is back while the lease of a dead one lasts, or after others have pushed, and deleted, what it has
    // read.
    freeze(reader, [30_000, 40_000, 120_000, 300_000]);
    changeMeanwhile(random.pick(toPush), 1);
  }

  /** @param timesMs a lease lasts 20 s: just below it, just above, and much longer. */
  function freeze(
    process: Process,
    timesMs = nature.growOld
      ? [19_500, 120_000, 300_000]
      : [6000, 15_000, 18_500, 19_500, 22_000, 30_000, 70_000, 120_000, 300_000],
  ): void {
    if (process.isDead) return;
    const forMs = random.pick(timesMs);
    process.frozenUntilMs = now() + forMs;
    tell(`is frozen for ${forMs / 1000} s`, process);
    queue.lookAgain();
    at(forMs + 1, queue.pump);
    if (!nature.secondWorker) at(5000, () => start(startWorker()));
  }

  /** Which run first sent anything about an order. */
  function noteFirstPost(process: Process, { method, path, form, by }: Request): void {
    const code = form.get('code');
    if (method !== 'POST' || path !== '/v1/orders' || code === null || !by || firstPosts.has(code)) return;
    const { contactMaxAgeDays: own } = processes.get(process.name)?.settings ?? settings;
    const days = Math.min(own, by.run?.rights?.contactMaxAgeDays ?? own);
    const isYoungNow = oracle.isYoung(now() - oracle.contactGraceMs, Date.parse(form.get('created_at') ?? ''), days);
    firstPosts.set(code, { atMs: now(), policy: oracle.policyOf(by), isYoung: isYoungNow, run: by.run });
  }

  useNetwork(origin, {
    passage,
    serve(process, request) {
      const before = service.ledger.length;
      const response = service.serve(process, request);
      for (const { kind, code } of service.ledger.slice(before)) if (kind === 'deleted') firstPosts.delete(code);
      return response;
    },
  });

  // --- The shop and the customers.

  const line = (lineCode: string): ShopLine => ({
    lineCode,
    productId: random.integer(1, nature.cursed ? 4 : 3),
    price: random.pick(['10', '12', '10']),
    status: random.pick(['paid', 'paid', 'delivery_started']),
    invoice: null,
    options: random.chance(0.7) ? { size: random.pick(['S', 'M']) } : {},
  });

  function place(code: string, ageMs: number, isImport = false): void {
    const count = nature.massRemovals ? 14 : Number(oneOf(random, { 1: 4, 2: 3, 3: 2 }));
    const createdMs = Math.floor((now() - ageMs) / 1000) * 1000;
    const lines = Array.from({ length: count }, (_, at) => line(String(at + 1)));
    // Two lines that are equal in everything.
    if (count > 1 && random.chance(0.3)) lines[1] = { ...(lines[0] as ShopLine), lineCode: '2' };
    shop.change(
      code,
      {
        code,
        createdMs,
        updatedMs: isImport ? createdMs : now() - 1 - Math.floor(random.next() * Math.min(ageMs, 3 * hourMs)),
        total: String(random.integer(10, 90)),
        userCode: random.chance(0.7) ? `user-${code}` : null,
        email: random.chance(0.85) ? `${code.toLowerCase()}@example.com` : null,
        phone: random.chance(0.6) ? `0100000${code.slice(1).padStart(4, '0')}` : null,
        deletedMs: null,
        lines,
      },
      isImport ? 0 : -hourMs,
    );
    tell(`the shop has order ${code}, ${Math.round(ageMs / hourMs)} hours old, with ${count} lines`);
  }

  /**
   * One change of an order, by chance or the named one, dated now or not at all, and seen now or some minutes later.
   */
  function changeOrder(which?: string, how?: string): void {
    const free = codes.filter((one) => !untouchable.has(one) && (which === undefined || one === which));
    if (free.length === 0 || !isStormy) return;
    const code = random.pick(free);
    const order = shop.newest(code);
    const past = (shop.versions.get(code) ?? []).flatMap((one) => one.order ?? []);
    if (!order) {
      if (nature.returns && random.chance(0.5) && past.length > 0)
        commit(code, { ...(past.at(-1) as ShopOrder) }, 'comes back');
      return;
    }
    const lines = [...order.lines];
    const at = lines.length === 0 ? 0 : random.integer(0, lines.length - 1);
    const edit = (more: Partial<ShopLine>) => lines.map((one, place) => (place === at ? { ...one, ...more } : one));
    const fresh = String(past.flatMap((one) => one.lines).length + 1);
    const but = (more: Partial<ShopOrder>) => (): ShopOrder => ({ ...order, ...more });
    type Change = readonly [text: string, weight: number, next: () => ShopOrder | undefined];
    const shipped = () => ({ status: 'delivery_finished', invoice: `I${random.integer(1, 99)}` });
    const otherwise = () => ({ options: { size: random.pick(['S', 'M', 'L']) }, price: random.pick(['10', '12']) });
    const recoded = () => ({ lineCode: `r${fresh}`, ...(random.chance(0.3) && { price: '12' }) });
    const earlier = () => ({ ...random.pick(past), deletedMs: order.deletedMs });
    const moved = () => ({ ...order, email: `new${random.integer(1, 99)}@example.com` });
    const [many, isBack, { contactChanges }] = [lines.length > 1, nature.returns, nature];
    const changes: Change[] = [
      ['changes its total', 1, () => ({ ...order, total: String(random.integer(10, 90)) })],
      ['ships a line', 3, () => ({ ...order, lines: edit(shipped()) })],
      ['changes a line', 2, () => ({ ...order, lines: edit(otherwise()) })],
      ['loses an invoice', 0.5, but({ lines: edit({ invoice: null }) })],
      ['gets another line', 1, () => ({ ...order, lines: [...lines, line(`x${fresh}`)] })],
      ['gives a line another code', nature.lineCodes ? 4 : 0, () => ({ ...order, lines: edit(recoded()) })],
      ['loses a line', nature.removals && many ? 4 : 0, but({ lines: lines.toSpliced(at, 1) })],
      ['loses all but one line', nature.massRemovals && many ? 15 : 0, but({ lines: lines.slice(0, 1) })],
      ['loses all lines', nature.emptied ? 2 : 0, but({ lines: [] })],
      ['is marked as deleted', nature.deletions ? 3 : 0, but({ deletedMs: now() })],
      ['is not deleted any more', isBack && order.deletedMs !== null ? 8 : 0, but({ deletedMs: null })],
      ['vanishes', nature.vanishing && shop.all().length > 2 ? 3 : 0, () => undefined],
      ['is as it was before', isBack && past.length > 1 ? 9 : 0, earlier],
      ['loses its contact', contactChanges ? 2 : 0, but({ email: null, phone: null })],
      ['gets another address', contactChanges ? 2 : 0, moved],
    ];
    const known = changes.find(([text]) => text === how);
    const [text, , next] = known ?? random.weighted(changes.map((one) => [one, one[1]] as const));
    commit(code, next(), text);
    // A backfill leaves the new address to the next run.
    if (text === 'gets another address' && nature.backfill && random.chance(0.5)) backfill(1000);
  }

  function commit(code: string, order: ShopOrder | undefined, text: string): void {
    const before = shop.newest(code);
    const afterMs = nature.lateCommits && random.chance(0.4) ? random.next() * 8 * minuteMs : 0;
    // The rescan reads the orders of some days.
    const isRescanned = before !== undefined && before.createdMs > now() - (settings.rescanDays - 1) * dayMs;
    const isUndated = nature.undated && isRescanned && random.chance(0.4);
    if (isUndated || order === undefined) undated.add(code);
    const updatedMs = isUndated ? before.updatedMs : now();
    shop.change(code, order && { ...order, updatedMs }, afterMs);
    const seen = afterMs > 0 ? `, seen ${Math.round(afterMs / 1000)} s later` : '';
    tell(`order ${code} ${text}${isUndated ? ', without a date' : ''}${seen}`);
  }

  function review(): void {
    const kinds = oneOf(random, { new: 4, edited: 2, deleted: 2, hidden: 0.7, commented: 1.5 });
    const known = [...service.reviews.values()];
    const toldMs = Math.floor(now() / 1000) * 1000;
    // A service that loses all of its reviews is taken for one that fails.
    if (kinds === 'new' || known.length < 3) {
      const isLate = random.chance(0.2);
      const id = service.nextId();
      const written = newReview(id, toldMs);
      const listedFromMs = isLate ? now() + random.next() * 20 * minuteMs : 0;
      service.reviews.set(id, { ...written, listedFromMs });
      tell(`review ${id} is written${isLate ? ', and listed later' : ''}`);
      return;
    }
    const one = random.pick(known);
    if (kinds === 'edited') Object.assign(one, { message: `edited ${random.integer(1, 999)}`, updatedMs: toldMs });
    else if (kinds === 'commented') Object.assign(one, { comments: random.integer(0, 3), updatedMs: toldMs });
    else if (kinds === 'hidden') one.listedFromMs = Number.POSITIVE_INFINITY;
    else service.reviews.delete(one.id);
    const how = { commented: `has ${one.comments} comments`, hidden: 'is hidden from the lists' };
    tell(`review ${one.id} ${how[kinds as 'hidden'] ?? `is ${kinds}`}`);
  }
  const newReview = (id: number, createdMs: number) => ({
    id,
    createdMs,
    updatedMs: createdMs,
    listedFromMs: 0,
    productId: random.integer(1, 3),
    score: random.chance(0.9) ? random.integer(1, 5) : null,
    message: `review ${id}`,
    comments: 0,
  });

  /** A customer reviews what was bought. */
  function reviewSubOrder(): void {
    const all = [...service.orders.values()].flatMap((one) =>
      [...one.subOrders.values()].map((sub) => ({ code: one.code, sub })),
    );
    if (all.length === 0) return;
    const { code, sub } = random.pick(all);
    sub.reviews += 1;
    sub.reviewedMs = now();
    tell(`sub-order ${sub.id} of order ${code} is reviewed`);
  }

  // --- What runs.

  /** A run that is due, started by one of the workers. */
  function startDue(name: string): void {
    const able = alive().filter(({ onlyRun, process }) => onlyRun === undefined && process.frozenUntilMs <= now());
    const [opened] = random.sample(able, 1);
    if (!opened) return;
    const { process, app } = opened;
    tell(`${name} is due`, process);
    const due = within(process, () => startDueRun(app, named(jobs, name), `${name}-${Math.round(now() / 1000)}`));
    start(due, `${name} is not started:`, process);
  }

  /** Somebody ends a run for good: `runs end`, Ctrl-C, or a queue that has lost it. */
  function endSomeRun(): void {
    const open = queue.runs.filter(({ stage }) => stage !== 'ended');
    const [[run], [opened]] = [random.sample(open, 1), random.sample(alive(), 1)];
    if (!run || !opened) return;
    tell(`${run.id} is ended by a person`, opened.process);
    const ended = within(opened.process, () => endRun(opened.app, run.id, 'ended by a person'));
    start(ended, 'it is not ended:', opened.process);
    // The process that works on it dies with it.
    const holders = [run, ...run.steps].flatMap(({ holder }) => holder ?? []);
    for (const one of alive()) if (nature.kills && holders.includes(one.process)) at(0, () => kill(one, 'is killed'));
    at(2000, () => start(startWorker()));
  }

  /** The command of a run: it starts it and carries it out, together with workers. */
  async function runCommand(name: string, asked: Partial<RunRights> = {}, keyed = {}): Promise<void> {
    const opened = await open('command', ownSettings());
    const { process, app } = opened;
    tell(`command ${name} ${JSON.stringify(asked)}`, process);
    const started = await within(process, () => startRun(app, { job: named(jobs, name), asked, ...keyed })).catch(
      (error: unknown) => {
        tell(`${name} is not started: ${String(error).slice(0, 160)}`, process);
        return undefined;
      },
    );
    opened.onlyRun = started?.id ?? 'none';
    queue.join(opened);
  }

  /** A command that is no run. */
  async function command(what: 'repair' | 'retry' | 'verify reviews'): Promise<void> {
    const opened = await open('command');
    const { process, app } = opened;
    busy.add(process);
    const isFirst =
      what === 'retry' &&
      (await within(process, () => readCursor(app.warehouse.db, 'orders').catch(() => null))) === undefined;
    await within(process, () =>
      doing.run({ what: isFirst ? 'retry before the first sync' : what }, async () => {
        tell(what);
        if (isFirst || what === 'repair') repairsMs.push(now());
        const { signal } = app.abort;
        const onProgress = () => {};
        if (what === 'repair') {
          const rights = ownPushRights(app.config, 'repair');
          await verifyOrders({ ...orderDeps(app, signal), onProgress }, { repair: true, rights });
        } else if (what === 'verify reviews')
          await verifyReviews({ ...reviewDeps(app, signal), onProgress }, {}, { repair: true });
        else await retryDeadLetters(app, [], signal, async () => {});
      }),
    ).catch((error: unknown) => tell(`${what} fails: ${String(error).slice(0, 160)}`, process));
    busy.delete(process);
    process.isDead = true;
  }
  /** What nobody waits for: the story tells how it failed. */
  const start = (work: Promise<unknown>, failed = 'it ends with', process?: Process) =>
    void work.catch((error: unknown) => tell(`${failed} ${String(error).slice(0, 160)}`, process));

  const alive = () => [...processes.values()].filter(({ process }) => !process.isDead);
  const startWorker = async () => queue.join(await open('worker', ownSettings()));
  /** Processes may be set otherwise: then the stricter of the run's rights and their own settings holds. */
  const ownSettings = (): Settings =>
    nature.otherSettings && random.chance(0.5)
      ? { ...settings, contactMaxAgeDays: random.pick([0, 1, 30]), deletes: random.pick(['off', 'send']) }
      : settings;

  const backfill = (ms: number) =>
    at(ms, () => {
      const trigger = nature.withEmail && random.chance(0.5) ? 'backfill with e-mail' : 'backfill';
      start(runCommand('backfill-orders', { trigger }, { key: 'backfill-orders_first_last', replaces: true }));
    });

  /** The first backfill cannot read an order, so nobody has decided about its contact when a person tries it again. */
  function retryFirst(lengthMs: number): void {
    shop.unreadable.add(random.pick(codes));
    at(lengthMs * 0.3, () => shop.unreadable.clear());
    at(lengthMs * 0.35, () => start(command('retry')));
  }

  /** Minutes in which much goes wrong. */
  async function storm(number: number): Promise<void> {
    const isFirst = number === 0;
    const lengthMs = random.integer(3, 9) * minuteMs;
    among?.onStorm(number, lengthMs, (sinceMs) => {
      for (const { subOrders } of service.orders.values())
        for (const one of subOrders.values()) if (one.createdMs >= sinceMs) one.by = undefined;
    });
    accidents = random.integer(1, 4);
    const moment = () => random.next() * lengthMs;
    isStormy = true;
    if (nature.deadService) outageUntilMs = Number.POSITIVE_INFINITY;
    const faultOf = (text: string, process: Process): StatementFault => {
      if (isStormy && /^\s*(--|insert|update|commit)/i.test(text)) disturb(process, undefined, 0.25);
      return nature.brokenStatements && isStormy && !/finished_at/.test(text) && random.chance(0.02)
        ? random.pick(['broken before', 'broken after'] as const)
        : undefined;
    };
    database.useFaults(faultOf, brand);
    start(startWorker());
    if (nature.secondWorker) start(startWorker());
    if (nature.backfillFirst && nature.retry && isFirst && !nature.healthy) retryFirst(lengthMs);
    if (nature.backfillFirst && isFirst) backfill(0);
    const firstMs = nature.backfillFirst && isFirst ? lengthMs * 0.6 : 0;
    for (let ms = firstMs + random.next() * minuteMs; ms < lengthMs; ms += random.integer(60, 180) * 1000)
      at(ms, () => startDue('sync-orders'));
    if (nature.reviews > 0)
      for (let ms = random.next() * minuteMs; ms < lengthMs; ms += random.integer(90, 300) * 1000)
        at(ms, () => startDue('sync-reviews'));
    if (random.chance(0.4))
      at(moment(), () => {
        startDue('rescan-orders');
        if (nature.reviews > 0) startDue('reconcile-reviews');
      });
    if (nature.backfill) backfill(moment());
    if (nature.backfill && nature.reviews > 0)
      at(moment(), () => start(runCommand('backfill-reviews', {}, { key: 'backfill-reviews_first_last' })));
    for (const code of isFirst ? imported : [])
      at(lengthMs * (0.3 + random.next() * 0.3), () => {
        place(code, random.integer(8, 30) * dayMs, true);
        if (random.chance(0.5)) backfill(random.next() * lengthMs * 0.3);
      });
    if (nature.stubborn)
      at(moment(), () => {
        const untilMs = now() + random.integer(10, 200) * 1000;
        const [code, method] = [random.pick(codes), random.pick(['POST', 'PUT', 'DELETE', 'DELETE'])];
        obstacle = { code, method, untilMs, status: random.pick([500, 422]) };
        tell(`the service fails for each ${method} of order ${code}`);
      });
    if (nature.allowRemovals) at(moment(), () => start(runCommand('sync-orders', { allowRemovals: true })));
    if (nature.repair) at(moment(), () => start(command('repair')));
    if (nature.repair && nature.reviews > 0) at(moment(), () => start(command('verify reviews')));
    if (nature.retry) at(moment(), () => start(command('retry')));
    if (nature.changes)
      for (let n = random.integer(1, 3 + nature.orders); n > 0; n -= 1) at(moment(), () => changeOrder());
    if (nature.reviews > 0) for (let n = random.integer(0, 8); n > 0; n -= 1) at(moment(), review);
    if (nature.reviewed) for (let n = random.integer(1, 3); n > 0; n -= 1) at(moment(), reviewSubOrder);
    if (nature.endsRuns) for (let n = random.integer(1, 3); n > 0; n -= 1) at(moment(), endSomeRun);
    if (nature.outages)
      at(moment(), () => {
        outageUntilMs = now() + random.integer(10, 200) * 1000;
        tell('the service is down');
      });
    await pass(lengthMs);
    await calm();
  }
  /** No faults any more: what has begun comes to its end. */
  async function calm(): Promise<void> {
    isStormy = false;
    outageUntilMs = 0;
    database.useFaults(() => undefined, brand);
    tell('the storm is over');
    if (!alive().some(({ onlyRun }) => onlyRun === undefined)) await scheduler.done(startWorker(), 'a worker starts');
    await scheduler.until(() => queue.isQuiet() && [...busy].every(({ isDead }) => isDead), {
      withinMs: 8 * hourMs,
      what: 'all runs have ended',
    });
    await among?.meet('all runs of all brands have ended');
    for (const one of processes.values()) {
      queue.leave(one);
      if (!one.process.isDead) await scheduler.alone(() => kill(one, 'ends'));
    }
  }

  const ask = <Row extends pg.QueryResultRow>(text: string) =>
    scheduler.alone(() => database.ask<Row>(brand === undefined ? text : inBrand(text, brand)));

  async function factsNow(): Promise<oracle.Facts> {
    const deadLetters = await ask<oracle.DeadLetter>(
      `select kind, key, order_code as "orderCode", reason from sync.dead_letters where resolved_at is null order by kind, key`,
    );
    const withheld = await ask<{ code: string }>(
      `select order_code as code from sync.order_links where contact = 'withheld'`,
    );
    const reviews = await ask<oracle.WarehouseReview>(`
      select id::float8, message, score, (extract(epoch from created_at) * 1000)::float8 as "createdMs",
        round(extract(epoch from updated_at) * 1000)::float8 as "updatedMs", deleted_at is not null as "isDeleted",
        (select count(*)::integer from warehouse.review_comments c where c.review_id = r.id) as comments
      from warehouse.reviews r`);
    return {
      shop,
      service,
      nowMs: now(),
      firstPosts,
      runs: queue.runs,
      repairsMs,
      deadLetters,
      imported,
      settingsOf: (name) => processes.get(name)?.settings ?? settings,
      hasOtherSettings: nature.otherSettings,
      withheld: new Set(withheld.map(({ code }) => code)),
      reviews,
    };
  }
  const found = (when: string, some: oracle.Findings) => findings.push(...some.map((text) => `${when}: ${text}`));

  /** What a run that said `done` has left undone. */
  async function judgeDone(): Promise<void> {
    const facts = await factsNow();
    if (nature.healthy) {
      const letters = facts.deadLetters.map(({ kind, key, reason }) => `${kind} ${key}: ${reason}`);
      found('after the storm', [...oracle.runsAreDone(queue.runs, facts), ...letters]);
    }
    found('after the storm', oracle.neverAllowed(facts));
    const ended = queue.runs.toSorted((a, b) => a.endedMs - b.endedMs);
    const isDone = ({ report }: Run) => report?.outcome === 'done' && !report.counts.skipped;
    const reviewRun = ended.findLast(({ job }) => job.name === 'sync-reviews');
    if (reviewRun && isDone(reviewRun)) found(`after ${reviewRun.id} ended done`, oracle.doneHasRead(reviewRun, facts));
    // What one run of orders brought in line, no run that ended later may have undone.
    const changedMs = Math.max(...codes.map((code) => shop.changedMs(code)));
    const run = ended.find((one) => one.job.name === 'sync-orders' && one.startedMs > changedMs && isDone(one));
    const hasOnlyDone = ended.every((one) => !one.job.name.includes('order') || one.endedMs < changedMs || isDone(one));
    const isJudged = undated.size + untouchable.size + imported.size === 0 && !nature.reviewed;
    if (run && hasOnlyDone && isJudged && !nature.repair && !nature.retry)
      found(`after ${run.id} ended done`, oracle.ordersAreComplete(facts, { isSettled: false }));
  }

  async function runNow(opened: Opened, name: string): Promise<Run> {
    const { process, app } = opened;
    queue.join(opened);
    const started = within(process, () => startRun(app, { job: named(jobs, name) }));
    const { id } = await scheduler.done(started, `${name} starts`);
    const run = queue.runs.find((one) => one.id === id) as Run;
    await scheduler.until(() => run.stage === 'ended', { withinMs: 6 * hourMs, what: `${run.id} has ended` });
    return run;
  }

  /** A quiet day later everything is as it should be, and another run has nothing to do. */
  async function settle(): Promise<void> {
    await pass(26 * hourMs);
    const opened = await scheduler.done(open('settles'), 'a process starts');
    const runs: Run[] = [];
    const first = await runNow(opened, 'sync-orders');
    // The first backfill failed in the storm: a person runs it again.
    const isWaiting = first.report?.error?.includes(oracle.waitsForBackfill) === true;
    if (isWaiting) await runNow(opened, 'backfill-orders');
    runs.push(isWaiting ? await runNow(opened, 'sync-orders') : first);
    if (nature.undated || nature.vanishing || random.chance(0.3)) runs.push(await runNow(opened, 'rescan-orders'));
    if (nature.reviews > 0) {
      runs.push(await runNow(opened, 'sync-reviews'));
      runs.push(await runNow(opened, 'reconcile-reviews'));
    }
    if (nature.vanishing) {
      await pass(25 * hourMs);
      runs.push(await runNow(opened, 'rescan-orders'));
      runs.push(await runNow(opened, 'sync-orders'));
    }
    const facts = await factsNow();
    found('on a quiet day', oracle.runsAreDone(runs, facts));
    found('on a quiet day', oracle.obstaclesCostLittle(runs, facts));
    found('on a quiet day', oracle.ordersAreComplete(facts, { isSettled: true }));
    const rescanned = runs.findLast(({ job }) => job.name === 'rescan-orders');
    if (nature.vanishing && nature.deletes === 'send' && rescanned?.report?.outcome === 'done')
      found('on a quiet day', oracle.vanishedAreGone(facts));
    if (nature.reviews > 0) found('on a quiet day', oracle.reviewsAreComplete(facts));
    found('on a quiet day', oracle.neverAllowed(facts));
    if (facts.deadLetters.length > 0) {
      // A record that fails for the first time is tried again by the next run.
      await runNow(opened, 'sync-orders');
      const { writes } = { ...service.counts };
      await runNow(opened, 'sync-orders');
      found('on a quiet day', oracle.obstaclesAreTriedLessOften(service.counts.writes - writes));
    } else if (!among && random.chance(0.3)) {
      const hasReviews = nature.reviews > 0 && !nature.failingReview;
      for (const of of hasReviews ? (['orders', 'reviews'] as const) : (['orders'] as const)) {
        const [{ requests, writes }, { statements }] = [{ ...service.counts }, { ...database.counts }];
        const run = await runNow(opened, `sync-${of}`);
        const cost = {
          requests: service.counts.requests - requests,
          writes: service.counts.writes - writes,
          statements: database.counts.statements - statements,
        };
        found('on a quiet day', oracle.nothingCostsNothing(cost, of, run.report?.counts ?? {}));
      }
    }
    queue.leave(opened);
    await scheduler.alone(() => kill(opened, 'ends'));
    processes.delete('settles');
    untouchable.clear();
    undated.clear();
  }

  try {
    const oldest = nature.growOld ? Math.max(1, nature.contactMaxAgeDays) * dayMs : 4 * dayMs;
    if (nature.imported) for (const code of random.sample(codes, 1 + Math.floor(codes.length / 4))) imported.add(code);
    for (const code of codes.filter((one) => !imported.has(one))) {
      // Some are about to become too old for contact.
      const isOld = nature.growOld;
      place(code, isOld ? oldest - random.integer(-5, random.pick([5, 5, 40])) * minuteMs : random.next() * oldest);
      if (nature.foreign && random.chance(0.6)) foreignOrder(code);
    }
    for (let n = 0; n < nature.reviews; n += 1) {
      const id = service.nextId();
      const ageMs = random.chance(0.1) ? 3 * dayMs : random.next() * (nature.crowded ? 3 : 100) * dayMs;
      service.reviews.set(id, newReview(id, Math.floor((now() - ageMs) / 1000) * 1000));
    }
    const [failing] = random.sample([...service.reviews.keys()], 1);
    if (nature.failingReview && failing !== undefined) service.failingReviews.add(failing);
    for (let day = 0; day < days && findings.length === 0; day += 1) {
      if (day > 0) newDay(day);
      await storm(day);
      await judgeDone();
      if (findings.length === 0) await settle();
    }
    for (let episode = 0; days === 0 && episode < nature.episodes && findings.length === 0; episode += 1) {
      if (episode > 0 && nature.reviewed) {
        reviewSubOrder();
        await pass(10 * minuteMs);
      }
      await storm(episode);
      await judgeDone();
      if (episode + 1 < nature.episodes && nature.hourly) await pass(random.integer(55, 80) * minuteMs);
      else if (findings.length === 0) await settle();
    }
  } catch (error) {
    findings.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  for (const { process } of processes.values()) process.isDead = true;
  useNetwork(origin, undefined);
  return {
    findings,
    story: scheduler.story,
    steps: scheduler.steps(),
    nature: natureText(nature),
    statements: database.counts.statements - statementsBefore,
  };

  /** Other accidents than on the day before, new orders and new reviews. */
  function newDay(day: number): void {
    const today = Object.entries(natureOf(random.fork(`day ${day}`))).filter(([name]) => !lasting.includes(name));
    Object.assign(nature, Object.fromEntries(today), given);
    tell(`day ${day}: ${natureText(nature)}`);
    imported.clear();
    for (let n = random.integer(1, 4); n > 0; n -= 1) {
      codes.push(`O${codes.length + 1}`);
      // With broken queries the first run of a brand may be that of the evening: what is new comes within its lookback.
      place(codes.at(-1) as string, random.next() * (among ? 10 * minuteMs : hourMs), true);
    }
    if (nature.reviews > 0) for (let n = random.integer(1, 5); n > 0; n -= 1) review();
    if (nature.reviewed) reviewSubOrder();
  }

  /** Another integration has pushed the order before. */
  function foreignOrder(code: string): void {
    const order = shop.newest(code) as ShopOrder;
    service.writeAsOther(
      new URLSearchParams({ code, created_at: new Date(order.createdMs).toISOString(), total_price: order.total }),
    );
    const there = service.orderOf(code);
    if (!there) return;
    const some = random.chance(0.5) ? order.lines.slice(0, 1) : [line('?')];
    for (const one of some) {
      const given = new URLSearchParams({ product_id: String(one.productId), price: one.price, status: one.status });
      for (const [key, value] of Object.entries(one.options)) given.append('product_options[]', `${key}:${value}`);
      service.addSubOrder(there, given, undefined);
    }
    tell(`another integration has pushed order ${code}`);
  }
}

const natureText = (nature: Nature): string =>
  Object.entries(nature)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => (value === true ? name : `${name} ${value}`))
    .join(', ');
