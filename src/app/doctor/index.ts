import { stat } from 'node:fs/promises';
import { describeError, hintOf, type UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/is-loopback.ts';
import { openQueues, type Queues } from '../../queue/index.ts';
import type { Schedule } from '../../queue/schedules.ts';
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
import { checkQueue, checkSchedules } from './check-queue.ts';
import { checkService } from './check-service.ts';
import { checkShop } from './check-shop.ts';
import { checkWarehouse } from './check-warehouse.ts';
import { applying, type Finding, fault, inTime, ok, warning, withClosing } from './finding.ts';
import { isUnencrypted } from './unencrypted.ts';

type Area = 'configuration' | 'warehouse' | 'shop' | 'service' | 'queue' | 'schedules';
export type Diagnosis = (Finding & { area: Area })[];

/** Checks each system that a run needs, independently of the others, so that one call finds all faults. Changes nothing. */
export async function diagnose(config: Config, schedules: readonly Schedule[]): Promise<Diagnosis> {
  // A connection for each area: an area that waits must not hold up the others.
  const { warehouseDatabaseUrl: url, brand, lockSeconds } = config;
  const warehouse = await openWarehouse({ url, brand, lockSeconds, connections: 6 });
  const { db } = warehouse;
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
        return [...findings, ...(problem ? [asFault(problem)] : []), ...(await runsOfOthers(db, config))];
      }),
      inArea('shop', () =>
        withClosing(openShop({ ...config.shop, connections: 3 }), async (shop) => {
          const findings = await checkShop(shop, config.shop.sqlDir);
          if (findings.some(({ level }) => level === 'fault')) return findings;
          return [...findings, ...(await inTime(checkPushedOrders(shop, db)).catch(() => []))];
        }),
      ),
      inArea('service', async () => {
        const { timeZone } = config.api;
        const now = () => new Date();
        // Without a warehouse the check needs a token of its own.
        const state = await inTime(sessionState(db, serviceOf(config.api))).catch(() => undefined);
        const session = state && sharedSession(db, config.api);
        const opened = openReviewApi({ ...config.api, session, ...shortLimits });
        const findings = await withClosing(opened, (api) => checkService({ api, timeZone, now }));
        const issues = state ? tokenRefused({ session: state }) : [];
        return [...findings, ...issues.map(({ what, hint }) => warning(what, hint))];
      }),
      openOurQueues(config, db).then(
        (opened) => withClosing(opened, () => queue(opened, schedules)),
        (error: unknown) => {
          const address = config.queueUrl === url ? 'WAREHOUSE_DATABASE_URL' : 'QUEUE_URL';
          return [{ area: 'queue' as const, ...asFault(error, address) }];
        },
      ),
    ]);
    return parts.flat();
  });
}

/** What the warehouse says of the shop. What is wrong with the warehouse is said in its own area. */
async function checkPushedOrders(shop: Shop, db: Db): Promise<Finding[]> {
  const problem = await otherShopProblem({ shop, db });
  if (problem) return [asFault(problem)];
  const { hash, changedAt } = await orderQueriesState(db);
  const isChanged = changedAt !== null || (hash !== null && hash !== (await shop.orderQueriesHash()));
  return isChanged ? [warning(queriesChanged, queriesChangedHint)] : [];
}

/** What can be said of the shop while other variables are missing or wrong. @param wrong what `readConfig` throws. */
export async function diagnoseShop(shop: ShopConfig, wrong: UsageError): Promise<Diagnosis> {
  const parts = await Promise.all([
    inArea('configuration', async () => [asFault(wrong), ...(await checkEnvFile('.env'))]),
    inArea('shop', () =>
      withClosing(openShop({ ...shop, connections: 3 }), (opened) => checkShop(opened, shop.sqlDir)),
    ),
  ]);
  return parts.flat();
}

/** Open runs that were planned for another zone, service or address of the shop. It may lead to the same shop all the same. */
async function runsOfOthers(db: Db, config: Config): Promise<Finding[]> {
  const runs = await openRuns(db);
  return runs.flatMap(({ id, systems }) => {
    const differing = differingSystems(systems, systemsOf(config)).map(({ what }) => what);
    if (differing.length === 0) return [];
    const hint = `correct the wrong setting, or end the run: review-sync runs end ${id}`;
    return [warning(`the open run ${id} may not be carried out with these settings: ${differing.join('; ')}`, hint)];
  });
}

/** If the warehouse cannot say which queues are ours, only whether the queue's server responds can be checked. */
async function openOurQueues(config: Config, db: Db): Promise<Queues> {
  const names = await inTime(queueNames(db, config.api, config.brand)).catch(() => ({ installation: '' }));
  return inTime(openQueues(config.queueUrl, names));
}

async function inArea(area: Area, check: () => Promise<Finding[]>): Promise<Diagnosis> {
  const findings = await check().catch((error: unknown) => [asFault(error)]);
  return findings.map((finding) => ({ area, ...finding }));
}

/** @param address the variable with the address of the system that failed. */
function asFault(error: unknown, address?: string): Finding {
  return fault(describeError(error), hintOf(error, address) ?? 'read the error');
}

function checkConfiguration({
  statusToken,
  host,
  api,
  shop,
  warehouseDatabaseUrl,
  queueUrl,
  schedules,
}: Config): Finding[] {
  const addresses = {
    SHOP_DATABASE_URL: shop.url,
    WAREHOUSE_DATABASE_URL: warehouseDatabaseUrl,
    QUEUE_URL: queueUrl === warehouseDatabaseUrl ? '' : queueUrl,
    REVIEW_API_BASE_URL: api.baseUrl,
  };
  const unencrypted = Object.entries(addresses).filter(([, address]) => address !== '' && isUnencrypted(address));
  const findings = applying(warning, [
    [
      !isLoopback(host) && statusToken !== undefined,
      `HOST is ${host}: the status page can be reached from outside`,
      'put a proxy with TLS in front of it',
    ],
    [
      unencrypted.length > 0,
      `${unencrypted.map(([name]) => name).join(', ')}: to another network without TLS, password and customers’ data go unencrypted`,
      'use https; add sslmode=require (Postgres) or ssl=true (MySQL), or use rediss:// (Redis)',
    ],
    [
      schedules.reconcile === '',
      'SCHEDULE_RECONCILE is empty: missed changes and deletions stay unseen, and old rows of the schema sync stay',
      'leave it at 30 4 * * *, or run review-sync sync reconcile daily',
    ],
  ]);
  return findings.length > 0 ? findings : [ok('every variable is well-formed')];
}

/** Whether other users of this machine can read the passwords in the file. */
async function checkEnvFile(file: string): Promise<Finding[]> {
  const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {};
  if (process.platform === 'win32' || (mode & 0o077) === 0) return [];
  return [
    warning(`${file}, which holds passwords, can be read by other users of this machine`, `run: chmod 600 ${file}`),
  ];
}

async function queue(queues: Queues, schedules: readonly Schedule[]) {
  return [
    ...(await inArea('queue', () => inTime(checkQueue(queues)))),
    ...(queues.areOurs ? await inArea('schedules', () => inTime(checkSchedules(queues, schedules, new Date()))) : []),
  ];
}
