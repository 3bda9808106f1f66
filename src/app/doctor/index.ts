import { stat } from 'node:fs/promises';
import { describeError, ReviewSyncError } from '../../base/errors.ts';
import { openQueues } from '../../queue/index.ts';
import { lacksTables } from '../../queue/queue-facts.ts';
import type { Schedule } from '../../queue/schedules.ts';
import { openReviewApi } from '../../review-api/index.ts';
import { plausibleDates } from '../../reviews/review-bounds.ts';
import { openShop } from '../../shop/index.ts';
import { openWarehouse } from '../../warehouse/index.ts';
import { type Config, isLoopback } from '../config.ts';
import { otherServiceProblem, shortLimits } from '../require-same-service.ts';
import { checkQueue, checkSchedules } from './check-queue.ts';
import { checkService } from './check-service.ts';
import { checkShop } from './check-shop.ts';
import { checkWarehouse } from './check-warehouse.ts';
import { databaseFault, type Finding, fault, ok, warning } from './finding.ts';
import { withClosing, withTimeoutDiagnosis } from './reachable.ts';
import { isUnencrypted } from './unencrypted.ts';

type Area = 'configuration' | 'warehouse' | 'shop' | 'service' | 'queue' | 'schedules';
export type Diagnosis = (Finding & { area: Area })[];

/**
 * Checks each system that a run needs, independently of the others, so that one call finds all faults. Changes nothing:
 * the row that it writes to the warehouse is rolled back.
 */
export async function diagnose(config: Config, schedules: readonly Schedule[], now: () => Date): Promise<Diagnosis> {
  const parts = await Promise.all([
    inArea('configuration', async () => [...checkConfiguration(config), ...(await checkEnvFile())]),
    inArea('warehouse', () => warehouse(config)),
    inArea('shop', () => shop(config)),
    inArea('service', () => service(config, now)),
    queue(config, schedules, now),
  ]);
  return parts.flat();
}

async function inArea(area: Area, check: () => Promise<Finding[]>): Promise<Diagnosis> {
  const findings = await check().catch((error: unknown) => [asFault(error)]);
  return findings.map((finding) => ({ area, ...finding }));
}

function asFault(error: unknown): Finding {
  const hint = error instanceof ReviewSyncError ? error.hint : undefined;
  return fault(describeError(error), hint ?? 'read the error');
}

function queueFault(config: Config, error: unknown): Finding {
  if (lacksTables(error)) return fault('its tables are missing', 'npx review-sync migrate');
  if (config.queueUrl === config.warehouseDatabaseUrl) {
    const what = `it is kept in the warehouse, and cannot be used either: ${describeError(error)}`;
    return fault(what, 'correct the warehouse first');
  }
  return databaseFault('cannot be reached', error, 'QUEUE_URL');
}

function checkConfiguration(config: Config): Finding[] {
  const findings: Finding[] = [];
  const { statusToken, host, api, orderOverlapMinutes, reviewOverlapMinutes } = config;
  const warn = (applies: boolean, what: string, hint: string) => void (applies && findings.push(warning(what, hint)));
  warn(
    !isLoopback(host) && statusToken !== undefined,
    `HOST is ${host}: the status page can be reached from outside`,
    'put a proxy with TLS in front of it',
  );
  const url = new URL(api.baseUrl);
  const isOpen = url.protocol === 'http:' && !isLoopback(url.hostname.replaceAll(/[[\]]/g, ''));
  warn(isOpen, 'REVIEW_API_BASE_URL is http: the token and customers’ data go unencrypted', 'use https');
  const databases = { SHOP_DATABASE_URL: config.shop.url, WAREHOUSE_DATABASE_URL: config.warehouseDatabaseUrl };
  const queue = config.queueUrl === config.warehouseDatabaseUrl ? {} : { QUEUE_URL: config.queueUrl };
  for (const [name, address] of Object.entries({ ...databases, ...queue })) {
    const what = `${name} leads to another network without TLS: password and customers’ data go unencrypted`;
    warn(isUnencrypted(address), what, 'add sslmode=require (Postgres) or ssl=true (MySQL), or use rediss:// (Redis)');
  }
  warn(orderOverlapMinutes === 0, 'ORDER_OVERLAP_MINUTES is 0: orders committed late are lost', 'leave it at 10');
  warn(
    reviewOverlapMinutes === 0,
    'REVIEW_OVERLAP_MINUTES is 0: late reviews wait for the reconcile',
    'leave it at 60',
  );
  warn(
    config.schedules.reconcile === '',
    'SCHEDULE_RECONCILE is empty: missed changes and deletions stay unseen, ' +
      'and nothing removes old rows of the schema sync',
    'leave it at 30 4 * * *, or run npx review-sync sync reconcile daily',
  );
  const isShared = config.shop.url === config.warehouseDatabaseUrl;
  warn(isShared, 'shop and warehouse are one database with one user', 'give the shop a user that may only read');
  return findings.length > 0 ? findings : [ok('every variable is well-formed')];
}

/** Whether other users of this machine can read the passwords in `.env` of the working directory. */
async function checkEnvFile(): Promise<Finding[]> {
  const found = await stat('.env').catch(() => undefined);
  if (found === undefined || process.platform === 'win32') return [];
  if ((found.mode & 0o077) === 0) return [ok('.env can be read by its owner only')];
  return [warning('.env, which holds passwords, can be read by other users of this machine', 'run: chmod 600 .env')];
}

async function warehouse({ warehouseDatabaseUrl: url, api: { timeZone } }: Config): Promise<Finding[]> {
  const opened = await openWarehouse({ url, connections: 2 });
  return withClosing(opened, () => checkWarehouse(opened, { url, timeZone }));
}

function shop(config: Config): Promise<Finding[]> {
  return withClosing(openShop({ ...config.shop, connections: 3 }), (opened) => checkShop(opened, config.shop));
}

async function service(config: Config, now: () => Date): Promise<Finding[]> {
  const { baseUrl, clientId, clientSecret, timeZone } = config.api;
  const abort = new AbortController();
  const plausible = plausibleDates(config.reviewYearsFrom, timeZone, now());
  const opened = openReviewApi({ baseUrl, clientId, clientSecret, ...shortLimits, signal: abort.signal });
  try {
    const findings = await checkService({ api: opened, baseUrl, timeZone, plausible, now });
    return [...findings, ...(await checkSameService(config))];
  } finally {
    abort.abort(new Error('doctor ended'));
    await opened.close();
  }
}

/** What is wrong with the warehouse itself is reported there. */
async function checkSameService(config: Config): Promise<Finding[]> {
  const opened = await openWarehouse({ url: config.warehouseDatabaseUrl, connections: 1 }).catch(() => undefined);
  if (!opened) return [];
  const problem = await withClosing(opened, ({ db }) => otherServiceProblem(db, config.api)).catch(() => undefined);
  return problem ? [asFault(problem)] : [];
}

async function queue(config: Config, schedules: readonly Schedule[], now: () => Date): Promise<Diagnosis> {
  const opened = await withTimeoutDiagnosis(openQueues(config.queueUrl), config.queueUrl).catch((error: unknown) =>
    queueFault(config, error),
  );
  if ('level' in opened) return [{ area: 'queue', ...opened }];
  const isInWarehouse = placeOf(config.queueUrl) === placeOf(config.warehouseDatabaseUrl);
  try {
    return [
      ...(await inArea('queue', () => withTimeoutDiagnosis(checkQueue(opened, isInWarehouse), config.queueUrl))),
      ...(await inArea('schedules', () =>
        withTimeoutDiagnosis(checkSchedules(opened, schedules, now()), config.queueUrl),
      )),
    ];
  } finally {
    await opened.close();
  }
}

/** Server and database of an address, without user and options. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}
