import type { Counts } from '../../src/base/counts.ts';
import type { Run, Work } from './driver.ts';
import type { Settings } from './process.ts';
import type { Entry, Order, Review, Service, SubOrder } from './service.ts';
import type { ShopLine, ShopOrder, SimulatedShop } from './shop.ts';

/** What is wrong, in a sentence. Empty: nothing is. */
export type Findings = string[];

/** What the oracle looks at. It uses no decision of review-sync, except the dead letters that review-sync names. */
export type Facts = {
  shop: SimulatedShop;
  service: Service;
  nowMs: number;
  /** The settings of each process that ran. */
  settingsOf(process: string): Settings;
  /** For each order, the first request that was sent about it since the service last had no such order. */
  firstPosts: ReadonlyMap<string, FirstPost>;
  runs: readonly Run[];
  /** When commands began that push without contact: a repair, or a retry before the first sync. */
  repairsMs: readonly number[];
  deadLetters: readonly DeadLetter[];
  /** Orders whose links say that contact is withheld. */
  withheld: ReadonlySet<string>;
  /** Processes of other settings ran too. */
  hasOtherSettings: boolean;
  /** Orders that came into the shop long after their dates: only a backfill reads them. */
  imported: ReadonlySet<string>;
  reviews: readonly WarehouseReview[];
};
export type FirstPost = { atMs: number; policy: Policy; isYoung: boolean; run: Run | undefined };
export type Policy = 'young' | 'never' | 'always';
export type DeadLetter = { kind: string; key: string; orderCode: string | null; reason: string };
export type WarehouseReview = {
  id: number;
  message: string;
  score: number | null;
  createdMs: number;
  updatedMs: number;
  isDeleted: boolean;
  comments: number;
};

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Between the decision and the arrival of a request: a slot, retries, a `Retry-After`, an old reading of the shop. */
const graceMs = 6 * minuteMs;
/**
 * From the last look at the clock to a request with contact: the tries of earlier requests, and a token in an outage.
 */
export const contactGraceMs = 3 * minuteMs;
/** A process may act upon what it read up to this long ago. After that, its lease has run out. */
const readingMs = 10 * minuteMs;

/** What a run may do with contact: decided by what the run is, not by what its code says. */
export function policyOf({ run, what }: Work): Policy {
  if (what === 'repair' || what === 'retry before the first sync') return 'never';
  if (run?.job.name !== 'backfill-orders') return 'young';
  return run.rights?.trigger === 'backfill with e-mail' ? 'always' : 'never';
}

/** What the first sync of orders says if it waits. */
export const waitsForBackfill = 'The first sync of orders waits for a backfill';

const mayRemoveAll = ({ request }: Entry) => request?.by?.run?.rights?.allowRemovals === true;

export const isYoung = (atMs: number, createdMs: number, maxAgeDays: number): boolean =>
  maxAgeDays > 0 && atMs - createdMs <= maxAgeDays * dayMs && createdMs - atMs <= dayMs;

/** Promise 7: nobody learns a contact that may not go. */
function nobodyIsMailed({ service, settingsOf, firstPosts, runs, hasOtherSettings }: Facts): Findings {
  // The run that begins first decides: it may have begun to push the order, and have died before it sent anything.
  const mayHaveBegun = ({ atMs, run }: FirstPost) =>
    runs.some((one) => one !== run && one.startedMs <= atMs && policyOf({ run: one, what: '' }) !== 'never');
  // A backfill that was open when the first sync of orders began, and that ended by itself after the sync had sent
  // something.
  const waitsFor = (run: Run | undefined, sentMs: number) => {
    const isSync = ({ job, report }: Run) => job.name === 'sync-orders' && !report?.error?.includes(waitsForBackfill);
    const isFirst = run !== undefined && run === runs.find(isSync);
    const isEnd = ({ report }: Run) => report?.outcome === 'done' && !report.counts.skipped;
    const isOpen = (one: Run) => one.seenMs > 0 && one.seenMs < (run?.startedMs ?? 0) && one.endedMs > sentMs;
    return isFirst && runs.find((one) => policyOf({ run: one, what: '' }) === 'never' && isEnd(one) && isOpen(one));
  };

  return service.ledger.flatMap((entry): Findings => {
    if (entry.kind !== 'contact' || !entry.process || !entry.request?.by) return [];
    const { code, field, process } = entry;
    const { by, sentMs } = entry.request;
    const what = `${field} of order ${code} was sent by ${by.run?.id ?? by.what} on ${process.name}`;
    const policy = policyOf(by);
    if (policy === 'never') return [`${what}, which may send none`];
    const days = Math.min(
      settingsOf(process.name).contactMaxAgeDays,
      by.run?.rights?.contactMaxAgeDays ?? Number.POSITIVE_INFINITY,
    );
    if (days <= 0) return [`${what}, although none may be sent by a process with ORDER_CONTACT_MAX_AGE_DAYS=0`];
    if (policy === 'always') return [];
    const awaited = waitsFor(by.run, sentMs);
    if (awaited) return [`${what}, the first sync, while ${awaited.id} was open`];
    if (!isYoung(sentMs - contactGraceMs, Date.parse(entry.orderedAt), days))
      return [`${what}, although it is older than ${days} days`];
    const first = firstPosts.get(code);
    if (
      first &&
      !mayHaveBegun(first) &&
      first.atMs <= sentMs &&
      // Another process of the same run may have begun to push it, with other settings, and have died.
      (first.policy === 'never' || (!first.isYoung && !hasOtherSettings)) &&
      entry.isNews
    )
      return [
        `${what}, although a ${first.policy === 'never' ? 'backfill or repair' : 'run when it was old'} pushed it first`,
      ];
    return [];
  });
}

/** Promise 6: only what may be removed is removed. */
function nothingIsDestroyed({ service, shop, settingsOf }: Facts): Findings {
  const findings: Findings = [];
  const taken: number[] = [];
  for (const entry of service.ledger) {
    if (entry.kind !== 'removed' && entry.kind !== 'deleted') continue;
    const { atMs, process, request, code } = entry;
    if (!process) continue;
    if (!mayRemoveAll(entry)) {
      taken.push(atMs);
      const lately = taken.filter((one) => one > atMs - dayMs + graceMs).length;
      if (lately > 50) findings.push(`${lately} removals in 24 hours without --allow-removals`);
    }
    const versions = versionsAt(shop, code, atMs);
    const always = (is: (one: ShopOrder) => boolean) => versions.every((one) => one !== undefined && is(one));
    const hasReviews = (one: SubOrder) => one.reviews > 0 && one.reviewedMs < atMs - graceMs;
    const what =
      entry.kind === 'removed'
        ? `sub-order ${entry.subOrder.id} of order ${code} was removed`
        : `order ${code} was deleted`;
    const wrong = (is: boolean, why: string) => is && findings.push(`${what}${why}`);
    if (entry.kind === 'removed') {
      const { subOrder, alike } = entry;
      wrong(subOrder.by === undefined, ', and somebody else had created it');
      wrong(hasReviews(subOrder), ', and has reviews');
      const isEmptied = always(({ lines }) => lines.length === 0);
      wrong(!mayRemoveAll(entry) && isEmptied, ', although the order has lost all of its lines at once');
      const isThere = always(
        ({ deletedMs, lines }) => deletedMs === null && lines.filter((line) => isLine(line, subOrder)).length > alike,
      );
      wrong(isThere, ', although the shop has its line');
    } else {
      const allowed = [settingsOf(process.name).deletes, request?.by?.run?.rights?.deletes];
      wrong(allowed.includes('off'), ' with ORDER_DELETES=off');
      wrong([...entry.order.subOrders.values()].some(hasReviews), ', and has reviews');
      wrong(
        always(({ deletedMs }) => deletedMs === null),
        ', although the shop has it',
      );
      const known = shop.versions.get(code) ?? [];
      const gone = known.findLast(
        (one, at) => one.committedMs <= atMs && one.order === undefined && known[at - 1]?.order !== undefined,
      );
      const isGone = versions.every((one) => one === undefined);
      wrong(gone !== undefined && isGone && atMs - gone.committedMs < dayMs, ' within a day after it left the shop');
    }
  }
  return findings;
}

/** Promise 6: what another integration created is changed only if a line is like it, by its product and more. */
const othersAreLeftAlone = ({ service, shop }: Facts): Findings =>
  service.ledger.flatMap((entry): Findings => {
    if (entry.kind !== 'changed' || !entry.process || entry.subOrder.by !== undefined) return [];
    const { subOrder, code } = entry;
    const lines = (shop.versions.get(code) ?? []).flatMap(({ order }) => order?.lines ?? []);
    const isLike = ({ productId, price, options }: ShopLine) =>
      productId === subOrder.productId &&
      (Number(price) === Number(subOrder.price) || optionsKey(options) === optionsKey(subOrder.options));
    return lines.some(isLike) ? [] : [`sub-order ${subOrder.id} of order ${code} was changed, and is like no line`];
  });

/** The versions of an order by which a process may have decided what to send, if it arrived at this moment. */
function versionsAt(shop: SimulatedShop, code: string, atMs: number): (ShopOrder | undefined)[] {
  const known = shop.versions.get(code) ?? [];
  return known
    .filter(
      (one, at) =>
        one.committedMs <= atMs && (known[at + 1]?.committedMs ?? Number.POSITIVE_INFINITY) >= atMs - readingMs,
    )
    .map((one) => one.order);
}

/**
 * Promises 2 and 3: nothing is sent of an older version of an order than what was sent before. This finds a process
 * that goes on with an old reading, or after its lease, although the next run heals it.
 */
function ordersNeverGoBack({ service, shop }: Facts): Findings {
  const reached = new Map<string, number>();
  const sentMs = ({ request, atMs }: Entry) => request?.sentMs ?? atMs;
  return service.ledger
    .toSorted((a, b) => sentMs(a) - sentMs(b))
    .flatMap((entry): Findings => {
      if (!entry.process || entry.kind === 'removed') return [];
      const { code } = entry;
      const versions = (shop.versions.get(code) ?? []).flatMap((one, at) =>
        one.committedMs <= sentMs(entry) && isSentOf(entry, one.order) ? [at] : [],
      );
      const [first, last] = [versions[0], versions.at(-1)];
      if (first === undefined || last === undefined) return [];
      const before = reached.get(code) ?? 0;
      reached.set(code, Math.max(before, first));
      if (last >= before) return [];
      const by = entry.request?.by?.run?.id ?? entry.request?.by?.what;
      return [
        `order ${code}: ${by} on ${entry.process.name} sent version ${last} after version ${before} (${entry.kind})`,
      ];
    });
}

/** Whether all that the request says of the order, or of one line, is as in this version. */
function isSentOf(entry: Entry, order: ShopOrder | undefined): boolean {
  if (entry.kind === 'deleted') return order === undefined || order.deletedMs !== null;
  if (order === undefined) return false;
  if (entry.kind === 'contact') return order[entry.field] === entry.value;
  const form = entry.request?.method === 'PUT' ? entry.request.query : entry.request?.form;
  const says = (name: string, is: (value: string) => boolean) => !form?.has(name) || is(form.get(name) ?? '');
  if (entry.kind === 'order')
    return (
      says('total_price', (value) => Number(value) === Number(order.total)) &&
      (!entry.isNew || order.deletedMs === null)
    );
  const options = form?.getAll('product_options[]').sort().join();
  const pairsOf = (line: ShopLine) => Object.entries(line.options).map((pair) => pair.join(':'));
  return order.lines.some(
    (line) =>
      says('product_id', (value) => Number(value) === line.productId) &&
      says('price', (value) => Number(value) === Number(line.price)) &&
      says('status', (value) => value === line.status) &&
      says('invoice', (value) => value === (line.invoice ?? '')) &&
      says('product_options[]', () => options === pairsOf(line).sort().join()),
  );
}

const optionsKey = (options: Record<string, string>) => JSON.stringify(Object.entries(options).sort());

/** What a sub-order has in common with its line. */
type Content = Pick<SubOrder, 'productId' | 'price' | 'status' | 'invoice' | 'options'>;

/** Whether the sub-order is as the line. */
const isLine = (line: ShopLine, one: Content): boolean =>
  line.productId === one.productId &&
  Number(line.price) === Number(one.price) &&
  line.status === one.status &&
  (line.invoice ?? '') === (one.invoice ?? '') &&
  optionsKey(line.options) === optionsKey(one.options);

/** Why something about the order cannot be synced, so that a dead letter is right. */
function mayFail(code: string, letters: readonly DeadLetter[], { shop, service: { habits } }: Facts) {
  if (habits.refusedOrders.has(code) || habits.failingOrders.has(code)) return 'as a whole';
  // Nobody corrects an order that has left the shop.
  const last = shop.versions.get(code)?.findLast(({ order }) => order !== undefined)?.order;
  if (last?.lines.some((line) => habits.refusedProducts.has(line.productId))) return 'a line';
  const isKept = ({ reason }: DeadLetter) => reason.startsWith('the service keeps ');
  return habits.emptyValues !== 'clear' && letters.every(isKept) ? 'a value' : undefined;
}

/** Whether so many more removals, after those of the last day, need --allow-removals. */
function isUsedUp({ service, nowMs }: Facts, more: number): boolean {
  const isRemoval = ({ kind }: Entry) => kind === 'removed' || kind === 'deleted';
  const lately = service.ledger.filter((one) => isRemoval(one) && one.atMs > nowMs - dayMs - graceMs);
  return lately.length + more > 50;
}

/** Promises 1 to 4 and 8: after a run of orders that ended with nothing to report, both ends are the same. */
export function ordersAreComplete(facts: Facts, { isSettled }: { isSettled: boolean }): Findings {
  const { shop, service, deadLetters } = facts;
  const findings: Findings = [];
  for (const code of shop.versions.keys()) {
    const order = shop.current(code);
    const letters = deadLetters.filter((one) => one.orderCode === code);
    const held = letters.some(({ reason }) => /allow-removals/.test(reason));
    const isEmptied = order !== undefined && order.lines.length === 0;
    const wrong = (text: string) => findings.push(`order ${code}: ${text}`);
    const mayBeHeld = (removals: number) => !isSettled || isEmptied || isUsedUp(facts, removals);
    const heldForNothing = 'a removal is held back, and the allowance of the day is not used up';
    const failing = mayFail(code, letters, facts);
    if (letters.length > 0 && !failing && !held && isSettled)
      wrong(`is a dead letter although nothing is wrong with it: ${letters[0]?.reason}`);
    const copies = [...service.orders.values()].filter((one) => one.code === code);
    if (copies.length > 1) wrong(`is at the service ${copies.length} times`);
    const [found] = copies;
    // Whatever process began to push an order, the next run of orders finishes it.
    if (order === undefined || (facts.imported.has(code) && !facts.firstPosts.has(code))) continue;
    if (order.deletedMs !== null) {
      if (held && !mayBeHeld(1)) wrong(heldForNothing);
      // A process that deletes nothing may have ended the run.
      if (found && isPushed(service, code) && letters.length === 0 && (isSettled || !facts.hasOtherSettings))
        for (const text of deletedIsCleared(found, facts)) wrong(text);
      continue;
    }
    if (letters.length > 0 && failing === 'as a whole') continue;
    if (!found) {
      wrong('is missing at the service');
      continue;
    }
    if (Number(found.total_price) !== Number(order.total))
      wrong(`has a total of ${order.total}, at the service ${found.total_price}`);
    if (found.user_code !== (order.userCode ?? ''))
      wrong(`is of ${order.userCode}, at the service of ${found.user_code}`);
    const isKept = letters.length > 0 && service.habits.emptyValues !== 'clear';
    for (const field of ['email', 'phone'] as const)
      if (order[field] === null && found[`user_${field}`] !== '' && !isKept)
        wrong(`has no ${field}, at the service one`);
    // First those that must not be left over.
    const mayStay = (one: SubOrder) => one.by === undefined || one.reviews > 0;
    const left = [...found.subOrders.values()].sort((a, b) => Number(mayStay(a)) - Number(mayStay(b)));
    const isRefused = ({ productId }: ShopLine) => service.habits.refusedProducts.has(productId);
    for (const line of order.lines) {
      const at = left.findIndex((one) => isLine(line, one));
      if (at >= 0) left.splice(at, 1);
      else if (letters.length === 0 || !isRefused(line))
        wrong(`line ${line.lineCode} (${shown(line)}) is missing; left are ${left.map(shown).join(', ') || 'none'}`);
    }
    const extra = left.filter((one) => one.by !== undefined && one.reviews === 0);
    if (held && !mayBeHeld(extra.length)) wrong(heldForNothing);
    // A refused line keeps its sub-order as it is.
    const kept = letters.length > 0 ? order.lines.filter(isRefused).length : 0;
    if (extra.length > kept && !held && !isEmptied)
      wrong(`the service has sub-orders that the shop has not: ${extra.map(shown).join(', ')}`);
    if (isEmptied && extra.length > 0 && !held)
      wrong('has lost all of its lines, and no dead letter says that they stay');
    if (isSettled) for (const text of contactIsComplete(order, found, facts)) wrong(text);
  }
  return findings;
}

/** Whether review-sync has ever sent the order: what only another integration pushed stays. */
const isPushed = ({ ledger }: Service, code: string): boolean =>
  ledger.some((one) => one.kind === 'order' && one.process && one.code === code);

/**
 * Promise 1: what two rescans in turn did not find in the shop is deleted at the service. The deletion is held until a
 * day has passed.
 */
export const vanishedAreGone = ({ shop, service, nowMs }: Facts): Findings =>
  [...shop.versions.keys()].flatMap((code) => {
    const one = service.orderOf(code);
    if (shop.current(code) !== undefined || !one || !isPushed(service, code)) return [];
    const hasReviews = [...one.subOrders.values()].some((sub) => sub.reviews > 0);
    const isOld = Date.parse(one.created_at) < nowMs - 6 * dayMs;
    return hasReviews || isOld ? [] : [`order ${code} left the shop two rescans ago and is at the service`];
  });

/** A process with other settings may have kept it: then the next rescan deletes it. */
function deletedIsCleared(found: Order, { settingsOf, hasOtherSettings }: Facts): Findings {
  const hasReviews = [...found.subOrders.values()].some((one) => one.reviews > 0);
  const isKept = settingsOf('settles').deletes === 'off' || hasReviews || hasOtherSettings;
  if (!isKept) return ['was deleted in the shop and is at the service'];
  return found.user_email !== '' || found.user_phone !== ''
    ? ['was deleted in the shop and keeps its contact at the service']
    : [];
}

/** If an order is young and the regular sync pushed it first, it is there with its contact. */
function contactIsComplete(
  order: ShopOrder,
  found: Order,
  { settingsOf, firstPosts, withheld, hasOtherSettings, nowMs, runs, repairsMs }: Facts,
): Findings {
  const { contactMaxAgeDays } = settingsOf('settles');
  if (!isYoung(nowMs + dayMs / 6, order.createdMs, contactMaxAgeDays)) return [];
  const first = firstPosts.get(order.code);
  if (first?.policy !== 'young' || !first.isYoung) return [];
  // A process that sends no contact may have pushed it first, or its newest address.
  if (hasOtherSettings) return [];
  // A backfill or a repair may have pushed it before a push of the sync was recorded.
  const isWithoutContact = repairsMs.length > 0 || runs.some(({ job }) => job.name === 'backfill-orders');
  if (withheld.has(order.code) && isWithoutContact) return [];
  return (['email', 'phone'] as const).flatMap((field) =>
    order[field] !== null && found[`user_${field}`] !== order[field]
      ? [`is young, and its ${field} is not at the service`]
      : [],
  );
}

const shown = (one: Content & { id?: number; by?: string | undefined }) =>
  `${one.id === undefined ? '' : `${one.id} by ${one.by}: `}product ${one.productId} ${one.options.size ?? ''} ${one.price} ${one.status} ${one.invoice ?? ''}`;

/**
 * Promises 1, 5 and 8: after a run of reviews that ended `done` each review is in the warehouse in its newest version.
 */
export function reviewsAreComplete({ service, reviews, nowMs, deadLetters }: Facts): Findings {
  const held = new Map(reviews.map((one) => [one.id, one]));
  const findings: Findings = [];
  for (const review of service.reviews.values()) {
    const found = held.get(review.id);
    held.delete(review.id);
    if (review.listedFromMs > nowMs - minuteMs || isBesideObstacle(service, review)) continue;
    const wrong = (text: string) => findings.push(`review ${review.id}: ${text}`);
    if (!found) wrong('is missing in the warehouse');
    else if (found.isDeleted) wrong('is marked as deleted, and the service has it');
    else if (found.message !== review.message || found.score !== review.score || found.updatedMs !== review.updatedMs)
      wrong(
        `is ${review.message} (${review.score}) at the service, ${found.message} (${found.score}) in the warehouse`,
      );
    else if (found.comments !== review.comments)
      wrong(`has ${review.comments} comments at the service, ${found.comments} in the warehouse`);
  }
  // Older ones are read again within RECONCILE_ALL_DAYS.
  for (const one of held.values())
    if (!one.isDeleted && one.createdMs > nowMs - 44 * dayMs && !isBesideObstacle(service, one))
      findings.push(`review ${one.id}: is gone from the service and not marked as deleted`);
  for (const one of deadLetters)
    if (one.kind === 'review')
      findings.push(`review ${one.key} is a dead letter although nothing is wrong with it: ${one.reason}`);
  return findings;
}

/**
 * Whether the review may be in the open gap around a review on which the service always fails: the gap is seconds at
 * most.
 */
const isBesideObstacle = (
  { failingReviews, reviews }: Service,
  review: Pick<Review, 'createdMs' | 'updatedMs'>,
): boolean =>
  [...failingReviews].some((id) => {
    const failing = reviews.get(id);
    const isNear = (a: number, b: number) => Math.abs(a - b) <= 5000;
    return failing && (isNear(failing.createdMs, review.createdMs) || isNear(failing.updatedMs, review.updatedMs));
  });

/** Promise 1: a run of reviews that ended `done` has brought in what the lists showed throughout. */
export function doneHasRead(run: Run, { service, reviews }: Facts): Findings {
  const held = new Map(reviews.map((one) => [one.id, one]));
  return [...service.reviews.values()].flatMap((review): Findings => {
    if (isBesideObstacle(service, review) || review.listedFromMs > 0 || review.createdMs > run.startedMs - minuteMs)
      return [];
    const found = held.get(review.id);
    if (!found)
      return [`review ${review.id} of ${new Date(review.createdMs).toISOString()} is missing in the warehouse`];
    return found.updatedMs < review.updatedMs && review.updatedMs < run.startedMs - minuteMs
      ? [`review ${review.id} is in the warehouse in an older version`]
      : [];
  });
}

/** Promise 6, of reviews: while the service has a review, it is never marked as deleted. */
const noReviewIsGoneTooSoon = ({ service, reviews }: Facts): Findings =>
  reviews.flatMap((one) =>
    one.isDeleted && service.reviews.has(one.id)
      ? [`review ${one.id} is marked as deleted, and the service has it`]
      : [],
  );

/** What is wrong at any moment. */
export const neverAllowed = (facts: Facts): Findings =>
  [nobodyIsMailed, nothingIsDestroyed, othersAreLeftAlone, ordersNeverGoBack, noReviewIsGoneTooSoon].flatMap((check) =>
    check(facts),
  );

/** Promise 8: on a quiet day a run ends `done`, unless something is named that cannot be synced. */
export function runsAreDone(runs: readonly Run[], { deadLetters, service, shop, runs: all }: Facts): Findings {
  const isOfOrders = ({ job }: Run) => job.name.includes('order');
  const isBackfill = ({ job }: Run) => job.name === 'backfill-orders';
  return runs.flatMap((run) => {
    const { outcome, reason, error = '' } = { ...run.report };
    const kinds = isOfOrders(run) ? ['order', 'order_line'] : ['review'];
    const letters = deadLetters.filter(({ kind }) => kinds.includes(kind));
    if (outcome === 'done')
      return run === runs.findLast(isOfOrders) && letters.length > 0
        ? [`${run.id} ends done, and ${letters[0]?.key} is a dead letter`]
        : [];
    if (!isOfOrders(run) && service.failingReviews.size > 0) return [];
    // Then it may be a copy of the shop, until the shop has a newer order.
    if (error.includes('it shows no newer order')) return [];
    // Then it may be another shop.
    const isLeft = (code: string) => shop.current(code) && service.orderOf(code) && isPushed(service, code);
    if (error.includes('of all ages that were pushed') && ![...shop.versions.keys()].some(isLeft)) return [];
    const isBackfillOpen = all.some(
      (one) => isBackfill(one) && one.startedMs <= run.endedMs && one.endedMs >= run.startedMs,
    );
    if (error.includes(waitsForBackfill) && isBackfillOpen) return [];
    // A later run of this list may remove it, with the next day's allowance.
    if (run !== runs.at(-1) && error.includes('removals of orders and lines held back')) return [];
    if (letters.length > 0 && (reason === 'dead-letters' || error.includes('--allow-removals'))) return [];
    return [`${run.id} ends ${outcome} on a quiet day: ${error}`];
  });
}

/** Promise 10: what keeps failing is not sent again by each run. */
export const obstaclesAreTriedLessOften = (writes: number): Findings =>
  writes > 0 ? [`a run sent ${writes} writes of what had failed in the two runs before it`] : [];

/** Promise 12: a review on which the service always fails costs a run half a minute of waiting. */
export const obstaclesCostLittle = (runs: readonly Run[], { service }: Facts): Findings =>
  runs.flatMap((run) => {
    const seconds = Math.round((run.endedMs - run.startedMs) / 1000);
    if (service.failingReviews.size === 0 || !run.job.name.includes('review') || seconds < 60) return [];
    return [`${run.id} took ${seconds} s beside a review on which the service fails`];
  });

/** Promise 12: a run that has nothing to do costs next to nothing. */
export function nothingCostsNothing(
  cost: { requests: number; writes: number; statements: number },
  of: 'orders' | 'reviews',
  counts: Counts,
): Findings {
  // A run reads again what changed in the minutes before its cursor, in pages of 20 at least. If nothing has changed,
  // the two flows together take fewer than 20 statements a run. If a list is read twice, its pages land twice. If a run
  // also follows reviews by their creation, it has a second window.
  const { orders = 0, reviews = 0, windows = 1 } = counts;
  const most =
    of === 'orders'
      ? { writes: 0, requests: 2, statements: 16 + 5 * orders }
      : { writes: 0, requests: 14 + Math.ceil(reviews / 20), statements: 18 + 6 * windows + 2 * reviews };
  return (['writes', 'requests', 'statements'] as const)
    .filter((what) => cost[what] > most[what])
    .map((what) => `a run of ${of} that had nothing to do: ${cost[what]} ${what}, ${JSON.stringify(counts)}`);
}
