import { createHash } from 'node:crypto';
import { isSameCode } from '../base/codes.ts';
import { ReviewSyncError, UsageError } from '../base/errors.ts';
import { parseInstant, secondOf } from '../base/time/span.ts';
import { NotFoundError, openReviewApi } from '../review-api/index.ts';
import { ownerOf } from '../warehouse/bi/all-brands.ts';
import {
  type ConnectedService,
  connectedService,
  forgetServiceUnlessKnown,
  isSameAccount,
  type KnownRecords,
  recordConnectedService,
  recordsOfAllAges,
} from '../warehouse/connected-service.ts';
import type { Db } from '../warehouse/index.ts';
import { openServiceSession } from '../warehouse/service-session.ts';
import type { Config } from './config.ts';
import { isPushedDate } from './require-same-shop.ts';

/** Limits of the client while a person waits: shorter than those of the runs. */
export const shortLimits = {
  timeoutMs: 20_000,
  retry: { attempts: 3, baseDelayMs: 200, maxRetryAfterMs: 1000, giveUpAfterMs: 5000 },
} as const;

/**
 * Checks that the warehouse belongs to the configured service. With another service, such as the real one after the
 * reference service, every order would count as pushed and every older review as read.
 *
 * If address and client id are those of the last command, no request is sent. Otherwise the service may have moved, or
 * have a new client. If it knows one of the newest and oldest orders and reviews, it is recorded. If the warehouse has
 * no orders and reviews, as after a trial with an empty service, it is recorded, too, and everything learned from the
 * earlier service is forgotten.
 *
 * @throws ReviewSyncError if the service knows none of them, and the client's errors if it does not respond.
 */
export async function requireSameService(db: Db, config: Config['api']): Promise<void> {
  const before = await connectedService(db);
  if (before && isSameAccount(before, serviceOf(config))) return;
  const problem = await otherServiceProblem(db, config);
  if (problem) throw problem;
  if (before) await forgetServiceUnlessKnown(db);
  await recordConnectedService(db, serviceOf(config));
}

/** The error if the warehouse belongs to another service; undefined if it does not. Changes nothing. */
export async function otherServiceProblem(db: Db, config: Config['api']): Promise<ReviewSyncError | undefined> {
  const before = await connectedService(db);
  const now = serviceOf(config);
  if (before === undefined || isSameAccount(before, now)) return undefined;
  // Two brands may have records with the same ids and dates.
  const owner = await ownerOf(db, now);
  if (owner !== undefined) return ownedBy(owner);
  const known = await recordsOfAllAges(db);
  const records = known.orders.length + known.reviews.length;
  if (records === 0 || (await knowsOne(db, config, known))) return undefined;
  const other = before.address === now.address ? 'another client id' : before.address;
  return new ReviewSyncError(
    'other-service',
    `The warehouse belongs to another review service or account (${other}): ` +
      `the newest and oldest orders and reviews in it were looked up, ${records} in all, ` +
      `and the service at REVIEW_API_BASE_URL, ${now.address}, has none of them`,
    {
      hint:
        'Give each service a warehouse of its own: set WAREHOUSE_DATABASE_URL to an empty database and ' +
        'run review-sync migrate. If it is the same service, and these records were deleted there: ' +
        'review-sync migrate --same-service.',
    },
  );
}

/** Why a brand may not use the account of another brand. */
export const ownedBy = (owner: string): UsageError =>
  new UsageError(
    `The account of REVIEW_API_BASE_URL and REVIEW_API_CLIENT_ID belongs to the brand ${owner} of this warehouse. Under another name, all its orders would be pushed again`,
    {
      hint: `Correct the account, or name the file ${owner}.env again. To give that brand up: review-sync migrate --drop-brand ${owner}`,
    },
  );

/** The service of a configuration, as the warehouse records it. */
export const serviceOf = ({ baseUrl, clientId }: Pick<Config['api'], 'baseUrl' | 'clientId'>): ConnectedService => ({
  address: baseUrl,
  client: createHash('sha256').update(clientId).digest('hex').slice(0, 12),
});

/** The session with the service that all processes on this warehouse share. */
export const sharedSession = (db: Db, api: Config['api']) => openServiceSession(db, serviceOf(api), api.clientSecret);

/** Asks with short waits: if the service is down, a command must not wait for minutes. */
async function knowsOne(db: Db, config: Config['api'], { orders, reviews }: KnownRecords): Promise<boolean> {
  await using api = openReviewApi({ ...config, ...shortLimits, session: sharedSession(db, config) });
  const unlessAbsent = (error: unknown) => {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  };
  for (const { id, code, orderedAt } of orders) {
    const order = await api.orders.get(id).catch(unlessAbsent);
    // Two shops that number their orders from 1 have the same codes, and their services may give them the same ids.
    const createdAt = parseInstant(order?.created_at);
    const isOtherDate = orderedAt && createdAt !== undefined && !isPushedDate(new Date(createdAt * 1000), orderedAt);
    if (order && isSameCode(order.code, code) && !isOtherDate) return true;
  }
  for (const { id, createdAt } of reviews) {
    const review = await api.reviews.getRaw(id).catch(unlessAbsent);
    if (parseInstant(review?.item.created_at) === secondOf(createdAt)) return true;
  }
  return false;
}
