import { stat } from 'node:fs/promises';
import type { UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/is-loopback.ts';
import { evictionPolicy } from '../../queue/connection.ts';
import { openQueues, type Queues } from '../../queue/index.ts';
import { lateMs, plannedRuns, type Schedule } from '../../queue/schedules.ts';
import { openReviewApi } from '../../review-api/index.ts';
import { openShop, type Shop } from '../../shop/index.ts';
import { queueNames } from '../../warehouse/connected-service.ts';
import { type Db, openWarehouse } from '../../warehouse/index.ts';
import { orderQueriesState } from '../../warehouse/orders/order-queries.ts';
import { openRuns } from '../../warehouse/runs/runs.ts';
import { sessionState } from '../../warehouse/service-session.ts';
import { queriesChanged, queriesChangedHint, tokenRefused } from '../alert-rules.ts';
import { placesOf } from '../brands.ts';
import type { Config, ShopConfig } from '../config.ts';
import { otherServiceProblem, serviceOf, sharedSession, shortLimits } from '../require-same-service.ts';
import { otherShopProblem } from '../require-same-shop.ts';
import { differingSystems, systemsOf } from '../run-rights.ts';
import { checkService } from './check-service.ts';
import { checkShop } from './check-shop.ts';
import { checkWarehouse } from './check-warehouse.ts';
import { applying, type Finding, failed, fault, inTime, ok, warning, withClosing } from './finding.ts';

type Area = 'configuration' | 'warehouse' | 'shop' | 'service' | 'queue' | 'schedules';
export type Diagnosis = (Finding & { area: Area })[];

/** Checks each system that a run needs, apart from the others, so that one call finds all faults. Changes nothing. */
export async function diagnose(config: Config, schedules: readonly Schedule[]): Promise<Diagnosis> {
  // One connection for each area: a waiting area must not hold up the others.
  const { warehouseDatabaseUrl: url, brand, lockSeconds } = config;
  const warehouse = await openWarehouse({ url, brand, lockSeconds, connections: 6 });
  const { db } = warehouse;
  const ofQueue = config.queueUrl === url ? 'WAREHOUSE_DATABASE_URL' : 'QUEUE_URL';
  return withClosing(warehouse, async () => {
    const parts = await Promise.all([
      inArea('configuration', async () => [
        ...checkConfiguration(config),
        ...(await checkEnvFile('.env')),
        ...(brand ? await checkEnvFile(placesOf(config.brandsDir ?? '', brand).envFile) : []),
      ]),
      inArea('warehouse', async () => {
        const findings = await checkWarehouse(warehouse, config.api.timeZone);
        if (findings.some(({ level }) => level === 'fault')) return findings;
        const problem = await otherServiceProblem(db, config.api).catch(() => undefined);
        return [...findings, ...(problem ? [failed(problem)] : []), ...(await runsOfOthers(db, config))];
      }),
      inArea('shop', () =>
        withClosing(openShop({ ...config.shop, connections: 3 }), async (shop) => {
          const findings = await checkShop(shop, config.shop.sqlDir);
          if (findings.some(({ level }) => level === 'fault')) return findings;
          return [...findings, ...(await inTime(checkPushedOrders(shop, db)).catch(() => []))];
        }),
      ),
      inArea('service', async () => {
        // Without a warehouse the check needs a token of its own.
        const state = await inTime(sessionState(db, serviceOf(config.api))).catch(() => undefined);
        const session = state && sharedSession(db, config.api);
        const opened = openReviewApi({ ...config.api, session, ...shortLimits });
        const findings = await withClosing(opened, (api) =>
          checkService({ api, timeZone: config.api.timeZone, now: () => new Date() }),
        );
        const issues = state ? tokenRefused({ session: state }) : [];
        return [...findings, ...issues.map(({ what, hint }) => warning(what, hint))];
      }),
      openOurQueues(config, db).then(
        (queues) =>
          withClosing(queues, async () => [
            ...(await inArea('queue', () => inTime(checkQueue(queues)), ofQueue)),
            ...(queues.areOurs ? await inArea('schedules', () => inTime(checkSchedules(queues, schedules))) : []),
          ]),
        (error: unknown) => [{ area: 'queue' as const, ...failed(error, ofQueue) }],
      ),
    ]);
    return parts.flat();
  });
}

/** Compares the shop with the warehouse. The warehouse's own area reports its faults. */
async function checkPushedOrders(shop: Shop, db: Db): Promise<Finding[]> {
  const problem = await otherShopProblem({ shop, db });
  if (problem) return [failed(problem)];
  const { hash, changedAt } = await orderQueriesState(db);
  const isChanged = changedAt !== null || (hash !== null && hash !== (await shop.orderQueriesHash()));
  return applying(warning, [[isChanged, queriesChanged, queriesChangedHint]]);
}

/** Checks the shop while other variables are missing or wrong. @param wrong the error of `readConfig`. */
export async function diagnoseShop(shop: ShopConfig, wrong: UsageError): Promise<Diagnosis> {
  const parts = await Promise.all([
    inArea('configuration', async () => [failed(wrong), ...(await checkEnvFile('.env'))]),
    inArea('shop', () =>
      withClosing(openShop({ ...shop, connections: 3 }), (opened) => checkShop(opened, shop.sqlDir)),
    ),
  ]);
  return parts.flat();
}

/** Open runs that were planned for another zone, service or shop address. Another address may be the same shop. */
async function runsOfOthers(db: Db, config: Config): Promise<Finding[]> {
  const runs = await openRuns(db);
  return runs.flatMap(({ id, systems }) => {
    const differing = differingSystems(systems, systemsOf(config)).map(({ what }) => what);
    if (differing.length === 0) return [];
    const hint = `correct the wrong setting, or end the run: review-sync runs end ${id}`;
    return [warning(`the open run ${id} may not be carried out with these settings: ${differing.join('; ')}`, hint)];
  });
}

/** If the warehouse cannot say which queues are ours, only the queue's server can be checked. */
async function openOurQueues(config: Config, db: Db): Promise<Queues> {
  const names = await inTime(queueNames(db, config.api, config.brand)).catch(() => ({ installation: '' }));
  return inTime(openQueues(config.queueUrl, names));
}

/** @param address the variable that holds the address of what is checked. */
async function inArea(area: Area, check: () => Promise<Finding[]>, address?: string): Promise<Diagnosis> {
  const findings = await check().catch((error: unknown) => [failed(error, address)]);
  return findings.map((finding) => ({ area, ...finding }));
}

function checkConfiguration(config: Config): Finding[] {
  const { host, warehouseDatabaseUrl, queueUrl } = config;
  const addresses = {
    SHOP_DATABASE_URL: config.shop.url,
    WAREHOUSE_DATABASE_URL: warehouseDatabaseUrl,
    ...(queueUrl !== warehouseDatabaseUrl && { QUEUE_URL: queueUrl }),
    REVIEW_API_BASE_URL: config.api.baseUrl,
  };
  const unencrypted = Object.entries(addresses).filter(([, address]) => isUnencrypted(address));
  const findings = applying(warning, [
    [
      !isLoopback(host) && config.statusToken !== undefined,
      `HOST is ${host}: the status page can be reached from outside`,
      'put a proxy with TLS in front of it',
    ],
    [
      unencrypted.length > 0,
      `${unencrypted.map(([name]) => name).join(', ')}: to another network without TLS, password and customers’ data go unencrypted`,
      'use https; add sslmode=require (Postgres) or ssl=true (MySQL), or use rediss:// (Redis)',
    ],
    [
      config.schedules.reconcile === '',
      'SCHEDULE_RECONCILE is empty: missed changes and deletions stay unseen, and old rows of the schema sync stay',
      'leave it at 30 4 * * *, or run review-sync sync reconcile daily',
    ],
  ]);
  return findings.length > 0 ? findings : [ok('every variable is well-formed')];
}

/** Whether an address has no TLS on a network that is not private. Containers have names without a domain. */
export function isUnencrypted(address: string): boolean {
  const { protocol, hostname, searchParams } = new URL(address);
  const ssl = searchParams.get('ssl') ?? '';
  const mode = searchParams.get('sslmode') ?? '';
  if (protocol === 'rediss:' || protocol === 'https:') return false;
  if (['true', '1', 'no-verify'].includes(ssl) && protocol !== 'redis:') return false;
  if (protocol.startsWith('postgres') && !['', 'disable', 'allow'].includes(mode)) return false;
  const host = hostname.replaceAll(/[[\]]/g, '').toLowerCase();
  if (!/[.:]/.test(host) || /\.(local|internal|localhost)$/.test(host)) return false;
  if (host.includes(':')) return !/^(::1$|f[cd][0-9a-f]{2}:|fe80:)/.test(host);
  return !/^[\d.]+$/.test(host) || !/^(127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)/.test(host);
}

/** Whether other users of this machine can read the passwords in the file. */
async function checkEnvFile(file: string): Promise<Finding[]> {
  const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {};
  const isOpen = process.platform !== 'win32' && (mode & 0o077) !== 0;
  const what = `${file}, which holds passwords, can be read by other users of this machine`;
  return applying(warning, [[isOpen, what, `run: chmod 600 ${file}`]]);
}

async function checkQueue(queues: Queues): Promise<Finding[]> {
  const policy = (await evictionPolicy(queues.url)) ?? 'noeviction';
  if (policy === 'noeviction') return [ok(`BullMQ on ${queues.kind === 'redis' ? 'Redis' : 'Postgres'} responds`)];
  const what = `Redis drops keys when its memory is full (${policy}): jobs would be lost`;
  return [warning(what, 'set maxmemory-policy noeviction')];
}

/** Whether the queue has exactly the configured schedules, and whether workers take their runs. */
export async function checkSchedules(
  queues: Queues,
  configured: readonly Schedule[],
  now = new Date(),
): Promise<Finding[]> {
  const planned = await plannedRuns(queues);
  const start = 'start review-sync worker';
  if (planned.length === 0 && configured.length === 0)
    return [warning('no schedule is configured', 'set SCHEDULE_ORDERS and the others')];
  if (planned.length === 0) return [warning('the queue holds no schedule: no run starts by itself', start)];
  const listOf = (schedules: readonly Schedule[]) =>
    schedules
      .map(({ job, pattern, timeZone }) => `${job} (${pattern} in ${timeZone})`)
      .sort()
      .join(', ') || 'none';
  const [there, wanted] = [listOf(planned), listOf(configured)];
  const what = `other schedules are in the queue (${there}) than are configured (${wanted})`;
  const hint = `${start}: it sets the schedules; if they change back, another worker has another configuration`;
  const runs = planned.map(({ job, next }) =>
    next && next.getTime() >= now.getTime() - lateMs
      ? ok(`${job} runs next at ${next.toISOString()}`)
      : fault(`${job} ${next ? `was due at ${next.toISOString()}, and no worker took it` : 'has no next run'}`, start),
  );
  return [...applying(warning, [[there !== wanted, what, hint]]), ...runs];
}
