import { createHash } from 'node:crypto';
import { ReviewSyncError } from '../base/errors.ts';
import { isSameCode } from '../orders/order/same-value.ts';
import { NotFoundError, openReviewApi } from '../review-api/index.ts';
import {
  type ConnectedService,
  connectedService,
  type KnownRecords,
  recordConnectedService,
  recordsOfAllAges,
} from '../warehouse/connected-service.ts';
import type { Db } from '../warehouse/index.ts';
import type { Config } from './config.ts';

/** Limits of the client for questions whose answer a person waits for: shorter than those of the runs. */
export const shortLimits = {
  timeouts: { connectMs: 5000, headersMs: 20_000, bodyMs: 20_000 },
  retry: { attempts: 3, malformedAttempts: 2, baseDelayMs: 200, maxRetryAfterMs: 1000, totalWaitMs: 5000 },
} as const;

/**
 * Checks that the configured service is the one to which the warehouse belongs. With another one, such as the real
 * service after the reference service, every order would count as pushed and every older review as read.
 *
 * 1. The address and the client id are those of the last command: no request is sent.
 * 2. Otherwise the service is asked for the three newest and three oldest orders and reviews, until it knows one. It may
 *    have moved, or have a new client.
 * 3. It is recorded where it knows one of them, or where the warehouse has none.
 *
 * @throws ReviewSyncError where it knows none of them, and the client's errors where it cannot be asked.
 */
export async function requireSameService(db: Db, config: Config['api']): Promise<void> {
  const now = serviceOf(config);
  if (isSameService(await connectedService(db), now)) return;
  const problem = await otherServiceProblem(db, config);
  if (problem) throw problem;
  await recordConnectedService(db, now);
}

/** Records the configured service as the one to which the warehouse belongs: a person says so. Asks nobody. */
export const declareSameService = (db: Db, config: Config['api']): Promise<void> =>
  recordConnectedService(db, serviceOf(config));

/** What is wrong where the warehouse belongs to another service; undefined where it does not. Changes nothing. */
export async function otherServiceProblem(db: Db, config: Config['api']): Promise<ReviewSyncError | undefined> {
  const [before, now] = [await connectedService(db), serviceOf(config)];
  if (before === undefined || isSameService(before, now)) return undefined;
  const known = await recordsOfAllAges(db);
  if (!(await hasOnlyUnknown(config, known))) return undefined;
  const records = known.orders.length + known.reviews.length;
  const other = before.address === now.address ? 'another client id' : before.address;
  return new ReviewSyncError(
    'other-service',
    `The warehouse belongs to another review service or account (${other}): ` +
      `the one of REVIEW_API_BASE_URL, ${now.address}, knows none of ${records} orders and reviews in it, ` +
      'the newest and the oldest',
    {
      hint:
        'Give each service a warehouse of its own: set WAREHOUSE_DATABASE_URL to an empty database and ' +
        'run npx review-sync migrate. If it is the same service, and these records were deleted there: ' +
        'npx review-sync migrate --same-service.',
    },
  );
}

const isSameService = (before: ConnectedService | undefined, now: ConnectedService): boolean =>
  before?.address === now.address && before.client === now.client;

const serviceOf = ({ baseUrl, clientId }: Config['api']) => ({
  address: baseUrl,
  client: createHash('sha256').update(clientId).digest('hex').slice(0, 12),
});

/** With short waits: a command must not wait for minutes where the service is down. */
async function hasOnlyUnknown(config: Config['api'], { orders, reviews }: KnownRecords): Promise<boolean> {
  if (orders.length + reviews.length === 0) return false;
  const { baseUrl, clientId, clientSecret } = config;
  const api = openReviewApi({ baseUrl, clientId, clientSecret, ...shortLimits });
  try {
    for (const { id, code } of orders) {
      const order = await unlessAbsent(api.orders.get(id));
      if (order && isSameCode(order.code, code)) return false;
    }
    for (const { id, createdAt } of reviews) {
      const review = await unlessAbsent(api.reviews.getRaw(id));
      const date = review?.item.created_at;
      if (typeof date === 'string' && Date.parse(date) === createdAt.getTime()) return false;
    }
    return true;
  } finally {
    await api.close();
  }
}

async function unlessAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
