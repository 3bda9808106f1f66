import type { Config } from '../config.ts';
import { describeError, ReviewSyncError } from '../errors.ts';
import { type Finding, fault, ok, warning } from '../finding.ts';
import { openQueues } from '../queue/index.ts';
import type { Schedule } from '../queue/schedules.ts';
import { openReviewApi } from '../review-api/index.ts';
import { openShop } from '../shop/index.ts';
import { openWarehouse } from '../warehouse/index.ts';
import { checkQueue, checkSchedules } from './check-queue.ts';
import { checkService } from './check-service.ts';
import { checkShop } from './check-shop.ts';
import { checkWarehouse } from './check-warehouse.ts';
import { databaseFault } from './database-trouble.ts';
import { inTime, takeLeave } from './in-time.ts';

export type Area = 'configuration' | 'warehouse' | 'shop' | 'service' | 'queue' | 'schedules';
export type Diagnosis = (Finding & { area: Area })[];

/** What a check by itself may wait for: somebody looks on. */
const patience = {
  timeouts: { connectMs: 5000, headersMs: 20_000, bodyMs: 20_000 },
  retry: { attempts: 3, malformedAttempts: 2, baseDelayMs: 200, maxRetryAfterMs: 1000, totalWaitMs: 5000 },
} as const;

/**
 * Looks at everything that a run needs, each by itself, so that all that is wrong is told at once. Changes nothing: at
 * the warehouse a row is written and taken back.
 */
export async function diagnose(config: Config, schedules: readonly Schedule[], now: () => Date): Promise<Diagnosis> {
  const parts = await Promise.all([
    inArea('configuration', async () => checkConfiguration(config)),
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
  return fault(describeError(error), hint ?? 'see what it says');
}

function queueFault(config: Config, error: unknown): Finding {
  const words = describeError(error);
  if (/is not initialized/.test(words)) return fault('its tables are missing', 'npx review-sync migrate');
  if (config.queueUrl === config.warehouseDatabaseUrl) {
    return fault(`it is kept in the warehouse, and cannot be used either: ${words}`, 'mend the warehouse first');
  }
  return databaseFault('cannot be reached', error, 'QUEUE_URL');
}

function checkConfiguration(config: Config): Finding[] {
  const findings: Finding[] = [];
  const { webhooks, statusToken, host, api, orderOverlapMinutes, reviewOverlapMinutes } = config;
  const isLocal = /^(127\.|::1$|localhost$)/.test(host);
  const warn = (isSo: boolean, what: string, mend: string) => void (isSo && findings.push(warning(what, mend)));
  warn(
    webhooks.secret !== undefined && webhooks.secret.length < 16,
    'WEBHOOK_SECRET is short',
    'take 32 random letters',
  );
  warn(statusToken !== undefined && statusToken.length < 16, 'STATUS_TOKEN is short', 'take 32 random letters');
  warn(
    !isLocal && statusToken !== undefined,
    `HOST is ${host}: the status page can be reached from outside`,
    'put a proxy with TLS before it',
  );
  const url = new URL(api.baseUrl);
  const isOpen = url.protocol === 'http:' && !/^(127\.|\[?::1|localhost$)/.test(url.hostname);
  warn(isOpen, 'REVIEW_API_BASE_URL is http: the token and customers’ data go unencrypted', 'use https');
  warn(orderOverlapMinutes === 0, 'ORDER_OVERLAP_MINUTES is 0: orders committed late are lost', 'leave it at 10');
  warn(
    reviewOverlapMinutes === 0,
    'REVIEW_OVERLAP_MINUTES is 0: late reviews wait for the reconcile',
    'leave it at 60',
  );
  const isShared = config.shopDatabaseUrl === config.warehouseDatabaseUrl;
  warn(isShared, 'shop and warehouse are one database with one user', 'give the shop a user that may only read');
  return findings.length > 0 ? findings : [ok('every variable is well-formed')];
}

async function warehouse(config: Config): Promise<Finding[]> {
  const opened = await openWarehouse({ url: config.warehouseDatabaseUrl, connections: 2 });
  try {
    return await checkWarehouse(opened, { url: config.warehouseDatabaseUrl, timeZone: config.api.timeZone });
  } finally {
    await takeLeave(opened.close());
  }
}

async function shop(config: Config): Promise<Finding[]> {
  const opened = openShop({ url: config.shopDatabaseUrl, sqlDir: config.shopSqlDir, connections: 1 });
  try {
    return await checkShop(opened, { url: config.shopDatabaseUrl, sqlDir: config.shopSqlDir });
  } finally {
    await takeLeave(opened.close());
  }
}

async function service({ api }: Config, now: () => Date): Promise<Finding[]> {
  const { baseUrl, clientId, clientSecret, timeZone } = api;
  const abort = new AbortController();
  const opened = openReviewApi({ baseUrl, clientId, clientSecret, ...patience, signal: abort.signal });
  try {
    return await checkService({ api: opened, baseUrl, timeZone, now });
  } finally {
    abort.abort(new Error('not waited for any longer'));
    await opened.close();
  }
}

async function queue(config: Config, schedules: readonly Schedule[], now: () => Date): Promise<Diagnosis> {
  const opened = await inTime(openQueues(config.queueUrl), config.queueUrl).catch((error: unknown) =>
    queueFault(config, error),
  );
  if ('verdict' in opened) return [{ area: 'queue', ...opened }];
  try {
    return [
      ...(await inArea('queue', () => inTime(checkQueue(opened), config.queueUrl))),
      ...(await inArea('schedules', () => inTime(checkSchedules(opened, schedules, now()), config.queueUrl))),
    ];
  } finally {
    await opened.close();
  }
}
