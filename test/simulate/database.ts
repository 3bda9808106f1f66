import pg from 'pg';
import { prepareBi } from '../../src/warehouse/bi/bi-access.ts';
import { isLockedOut, openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { here, type Process, realDelay, type Scheduler } from './scheduler.ts';

/** A connection to the real server, and what the process on it is in the middle of. */
type Session = { real: pg.Client; pid: number; isInTransaction: boolean };
type Outcome = { result: pg.QueryResult } | { error: unknown };
type Query = { text: string; values: unknown[]; types?: unknown };

/** What may happen to a statement: the connection breaks before it is carried out, or after. */
export type StatementFault = 'broken before' | 'broken after' | undefined;

export type SimulatedDatabase = Awaited<ReturnType<typeof openSimulatedDatabase>>;

/**
 * The clock of the sessions, in front of `pg_catalog` in their search path: the SQL that runs is the SQL of production,
 * and `now()` is the moment of the scheduler. The clock is a sequence, because all sessions see a sequence at once,
 * whatever they have begun.
 */
const clockSql = `
  create schema sim;
  create sequence sim.clock minvalue -9000000000000000000;
  create function sim.clock_timestamp() returns timestamptz language sql volatile parallel safe
    as 'select pg_catalog.to_timestamp(pg_catalog.pg_sequence_last_value(''sim.clock'') / 1e6)';
  create function sim.now() returns timestamptz language sql stable parallel safe
    as 'select pg_catalog.to_timestamp(pg_catalog.pg_sequence_last_value(''sim.clock'') / 1e6)'`;

/**
 * A migrated warehouse on a real server for one world after the other. Statements of simulated processes go through the
 * scheduler, one at a time, each to its end. If a statement waits for a lock of another session, it is left waiting,
 * and its process hears of it when the lock is free.
 */
export async function openSimulatedDatabase(url: string) {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`drop schema if exists sim cascade; ${clockSql}`);
  await admin.query(`select setval('sim.clock', 1)`);
  const address = new URL(url);
  address.searchParams.set(
    'options',
    '-c search_path=sim,pg_catalog,pg_temp -c synchronous_commit=off -c jit=off -c plan_cache_mode=force_generic_plan',
  );

  const idle: Session[] = [];
  const waiting: { session: Session; promise: Promise<Outcome>; deliver(outcome: Outcome): void }[] = [];
  const sessionsOf = new Map<Process, Set<Session>>();
  const counts = { statements: 0 };
  let clockMs = Number.NaN;
  type FaultOf = (text: string, process: Process) => StatementFault;
  /** By brand; without brands under ''. */
  const faults = new Map<string, FaultOf>();
  const faultOf: FaultOf = (text, process) => {
    const own = [...faults].find(([brand]) => brand === '' || text.includes(`_${brand}.`));
    return own?.[1](text, process);
  };

  async function openSession(): Promise<Session> {
    const known = idle.pop();
    if (known) return known;
    return here.exit(async () => {
      const client = new RealClient({ connectionString: address.href });
      client.on('error', () => {});
      await client.connect();
      return { real: client, pid: (client as unknown as { processID: number }).processID, isInTransaction: false };
    });
  }

  async function setClock(scheduler: Scheduler): Promise<void> {
    const ms = Math.floor(scheduler.now() / clockStepMs) * clockStepMs;
    if (ms === clockMs) return;
    clockMs = ms;
    await admin.query({ name: 'clock', text: `select setval('sim.clock', $1)`, values: [ms * 1000] });
  }

  const isBlocked = async ({ pid }: Session): Promise<boolean> => {
    const { rows } = await admin.query({
      name: 'blocked',
      text: 'select cardinality(pg_blocking_pids($1)) > 0 as yes',
      values: [pid],
    });
    return rows[0].yes;
  };

  /** The outcome of a statement, or undefined while it waits for a lock. */
  async function outcomeOf(session: Session, promise: Promise<Outcome>): Promise<Outcome | undefined> {
    for (;;) {
      const outcome = await Promise.race([promise, realDelay(20)]);
      if (outcome) return outcome;
      if (await isBlocked(session)) return undefined;
    }
  }

  /** Statements that waited for locks which are free now. */
  async function deliverWaiting(): Promise<void> {
    for (const one of [...waiting]) {
      const outcome = await outcomeOf(one.session, one.promise);
      if (!outcome) continue;
      waiting.splice(waiting.indexOf(one), 1);
      one.deliver(outcome);
    }
  }

  async function execute(scheduler: Scheduler, session: Session, query: Query, deliver: (outcome: Outcome) => void) {
    counts.statements += 1;
    const isTimeless =
      Math.abs(scheduler.now() - clockMs) < 1000 && !/now\(\)|clock_timestamp|insert|update/i.test(query.text);
    if (!isTimeless) await setClock(scheduler);
    if (/^\s*(begin|start transaction)/i.test(query.text)) session.isInTransaction = true;
    if (/^\s*(commit|rollback)\s*$/i.test(query.text)) session.isInTransaction = false;
    const promise = session.real.query({ ...query, ...named(query.text) } as pg.QueryConfig).then(
      (result): Outcome => ({ result }),
      (error: unknown): Outcome => ({ error }),
    );
    const outcome = await outcomeOf(session, promise);
    if (outcome) deliver(outcome);
    else waiting.push({ session, promise, deliver });
    if (waiting.length > 0) await deliverWaiting();
  }

  /** The server ends the transaction of a connection that is gone, and its locks with it. */
  async function drop(session: Session): Promise<void> {
    const place = waiting.findIndex((one) => one.session === session);
    if (place >= 0) {
      waiting.splice(place, 1);
      await admin.query('select pg_terminate_backend($1, 60000)', [session.pid]);
      await session.real.end().catch(() => {});
      return;
    }
    if (session.isInTransaction) await session.real.query('rollback');
    session.isInTransaction = false;
    idle.push(session);
    await deliverWaiting();
  }

  /** A session that the last world has left open would keep this process alive. */
  async function dropAll(): Promise<void> {
    for (const sessions of sessionsOf.values()) for (const session of [...sessions]) await drop(session);
    sessionsOf.clear();
  }

  /** In place of `pg.Pool`, for the code of simulated processes. */
  class SimulatedPool {
    readonly #options: pg.PoolConfig;
    readonly #process: Process;
    readonly #requests: (() => void)[] = [];
    #inUse = 0;
    constructor(options: pg.PoolConfig) {
      this.#options = options;
      const process = here.getStore();
      if (!process) throw new Error('a pool outside of a simulated process');
      this.#process = process;
      if (!sessionsOf.has(process)) sessionsOf.set(process, new Set());
    }
    on(): this {
      return this;
    }
    async end(): Promise<void> {}
    async connect(): Promise<unknown> {
      const process = this.#process;
      const { scheduler } = process;
      if (this.#inUse >= (this.#options.max ?? 10)) await new Promise<void>((resolve) => this.#requests.push(resolve));
      else this.#inUse += 1;
      const sessions = sessionsOf.get(process) as Set<Session>;
      const session = await new Promise<Session>((resolve) => {
        const open = async () => {
          const opened = await openSession();
          sessions.add(opened);
          resolve(opened);
        };
        scheduler.add(scheduler.random.next(), open, process);
      });
      let isBroken = false;
      const query = (given: string | Query, values: unknown[] = []) =>
        new Promise((resolve, reject) => {
          const { text, values: parameters = values } = typeof given === 'string' ? { text: given } : given;
          if (isBroken) return reject(brokenConnection());
          const fault = faultOf(text, process);
          const breakConnection = (when: string) => {
            isBroken = true;
            scheduler.tell(`the connection to the warehouse breaks ${when} the statement`, process);
            reject(brokenConnection());
          };
          const done = (outcome: Outcome) => {
            if (process.isDead) return;
            if (fault === 'broken after') breakConnection('after');
            else if ('error' in outcome) reject(outcome.error);
            else resolve(outcome.result);
          };
          const types = this.#options.types;
          const carryOut = async () => {
            scheduler.tell(`sql  ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 90)}`, process);
            if (fault === 'broken before') return breakConnection('before');
            await execute(scheduler, session, { text, values: parameters, ...(types && { types }) }, done);
          };
          scheduler.add(statementMs(scheduler), carryOut, process);
        });
      const release = () => {
        // If a transaction is still open, it is rolled back, as if the connection were closed.
        const next = this.#requests.shift();
        if (!next) this.#inUse -= 1;
        sessions.delete(session);
        if (!session.isInTransaction) idle.push(session);
        else scheduler.add(0, () => drop(session), null);
        next?.();
      };
      return { query, release };
    }
    async query(given: string | Query, values: unknown[] = []): Promise<unknown> {
      const client = (await this.connect()) as { query(...given: unknown[]): Promise<unknown>; release(): void };
      try {
        return await client.query(given, values);
      } finally {
        client.release();
      }
    }
  }

  const RealClient = pg.Client;
  const realPool = pg.Pool;
  (pg as { Pool: unknown }).Pool = SimulatedPool;

  /** Each table that holds rows after the migrations keeps a copy of them. */
  async function migrate(scheduler: Scheduler, process: Process, brands: (string | undefined)[]): Promise<void> {
    await setClock(scheduler);
    const migrated = here.run(process, async () => {
      for (const brand of brands) {
        const warehouse = await openWarehouse({ url, connections: 2, brand });
        await migrateWarehouse(warehouse.db);
        await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
      }
    });
    await scheduler.done(migrated, 'the warehouse is migrated');
    const { rows } = await admin.query<{ name: string }>(`
      select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ '^(sync|warehouse|bi)(_|$)' and c.relkind = 'r' and c.relname not like '%applied%'`);
    tables = rows.map(({ name }) => name);
    initial = [];
    for (const [at, name] of tables.entries()) {
      const { rowCount } = await admin.query(`select from ${name} limit 1`);
      if (rowCount === 0) continue;
      await admin.query(`create table sim.initial_${at} as table ${name}`);
      initial.push({ name, copy: `sim.initial_${at}` });
    }
  }
  let tables: string[] = [];
  let initial: { name: string; copy: string }[] = [];
  let worlds = 0;

  return {
    counts,
    migrate,
    /** The warehouse as it was after the migrations, and the faults of the statements of the next world. */
    async reset(): Promise<void> {
      worlds += 1;
      faults.clear();
      await dropAll();
      const isThorough = worlds % 25 === 0;
      const empty = isThorough
        ? `truncate ${tables.join(', ')} restart identity cascade`
        : `set session_replication_role = replica; ${tables.map((name) => `delete from ${name}`).join('; ')}; set session_replication_role = default`;
      await admin.query(
        `${empty}; ${initial.map(({ name, copy }) => `insert into ${name} overriding system value table ${copy}`).join('; ')}`,
      );
    },
    useFaults(next: FaultOf, brand = ''): void {
      faults.set(brand, next);
    },
    /**
     * A backup of a brand. @returns restores it, in one transaction. That returns false while others use the tables.
     */
    async backUp(brand: string): Promise<() => Promise<boolean>> {
      const own = tables.filter((name) => name.includes(`_${brand}.`));
      for (const [at, name] of own.entries())
        await admin.query(`drop table if exists sim.backup_${at}; create table sim.backup_${at} as table ${name}`);
      const { rows: sequences } = await admin.query<{ name: string; value: string }>(`
        select format('%I.%I', schemaname, sequencename) as name, coalesce(last_value, 0) + 1 as value
        from pg_sequences where schemaname like '%\\_${brand}'`);
      const restore = [
        `begin; set local lock_timeout to '20ms'; lock table ${own.join(', ')}; set local session_replication_role to replica`,
        ...own.map((name) => `delete from ${name}`),
        ...own.map((name, at) => `insert into ${name} overriding system value table sim.backup_${at}`),
        ...sequences.map(({ name, value }) => `select setval('${name}', ${value}, false)`),
        'commit',
      ].join('; ');
      return () =>
        admin.query(restore).then(
          () => true,
          async (error: unknown) => {
            await admin.query('rollback');
            if (!isLockedOut(error)) throw error;
            return false;
          },
        );
    },
    async kill(process: Process): Promise<void> {
      for (const session of sessionsOf.get(process) ?? []) await drop(session);
      sessionsOf.delete(process);
    },
    /** A statement of the simulator itself, at once. */
    async ask<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
      return (await admin.query<Row>(text)).rows;
    },
    async close(): Promise<void> {
      await dropAll();
      for (const { real } of idle) await real.end();
      await admin.end();
      (pg as { Pool: unknown }).Pool = realPool;
    },
  };
}

/** The server's clock moves in such steps: setting it costs as much as a statement. */
const clockStepMs = 8;

/** By text. '': the statement has no name. */
const names = new Map<string, string>();
/** Each session parses and plans each statement once: that takes the server twice as long as carrying it out. */
function named(text: string): { name?: string } {
  let name = names.get(text);
  if (name === undefined) {
    const code = text.replaceAll(/--.*/g, '');
    const hasPlan = !/^\s*(begin|commit|rollback|start|set|lock|savepoint|release)/i.test(code) && !/;\s*\S/.test(code);
    name = hasPlan ? `s${names.size}` : '';
    names.set(text, name);
  }
  return name === '' ? {} : { name };
}

const brokenConnection = () => new Error('Connection terminated unexpectedly');

/** Most statements take a millisecond, some wait for a disk. */
function statementMs({ random }: Scheduler): number {
  if (random.chance(0.01)) return random.next() * 400;
  return 0.2 + random.next() * 2;
}
