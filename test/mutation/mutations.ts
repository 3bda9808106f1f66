/**
 * Small, silent breakages of the riskiest files: a boundary, a comparison, a guard, an order of writes. Each leaves a
 * program that compiles and mostly works.
 */
export type Mutation = {
  /** What is broken now, as a sentence. */
  name: string;
  file: string;
  /** Text that the file holds exactly once, and what takes its place. */
  find: string;
  replace: string;
  /** The test files that should notice, the quickest first; of a slow one only the test named behind ` > `. */
  tests: readonly string[];
  /** Why no test can notice. */
  survives?: string;
};

const promise = (name: string) => `test/promises/${name}.test.ts`;
const orders = (name: string) => `test/orders/${name}.test.ts`;
const reviews = (name: string) => `test/reviews/${name}.test.ts`;
const warehouse = (name: string) => `test/warehouse/${name}.test.ts`;
const pureReviews = [reviews('pure'), reviews('read-window'), reviews('read-odd-lists')];

export const mutations: readonly Mutation[] = [
  // Orders: never twice.
  {
    name: 'a held lease can be taken',
    file: 'sql/warehouse/statements/lease_orders.sql',
    find: 'where l.lease_owner is null or l.lease_expires_at < clock_timestamp()',
    replace: 'where true',
    tests: [warehouse('order-leases')],
  },
  {
    name: 'links are written without the lease',
    file: 'sql/warehouse/statements/save_order_lines.sql',
    find: 'where l.order_code = g.order_code and l.lease_owner = g.token',
    replace: 'where l.order_code = g.order_code',
    tests: [warehouse('order-leases')],
  },
  {
    name: 'a push is recorded without the lease',
    file: 'sql/warehouse/statements/record_orders.sql',
    find: 'where l.order_code = g.order_code and l.lease_owner = g.token',
    replace: 'where l.order_code = g.order_code',
    tests: [warehouse('order-leases')],
  },
  {
    name: 'an order whose push has begun is not due',
    file: 'src/warehouse/orders/due-orders.ts',
    find: 'lease_owner is not null\n  union',
    replace: 'false\n  union',
    tests: [warehouse('order-leases'), warehouse('due-orders')],
  },
  {
    name: 'writes are sent until the very end of the lease',
    file: 'src/warehouse/orders/order-store.ts',
    find: '> leaseMs / 4',
    replace: '> leaseMs',
    tests: [warehouse('order-leases')],
  },
  {
    name: 'a stale copy of an order is pushed',
    file: 'src/orders/push/push-order.ts',
    find: 'link.pushedAt === null || link.pushedAt >= readAt;',
    replace: 'link.pushedAt === null;',
    tests: [orders('older-reading')],
  },
  {
    name: 'an order that another run may have deleted is not read again',
    file: 'src/orders/push/push-order.ts',
    find: "if (isNew) return deletes === 'send';",
    replace: 'if (isNew) return false;',
    tests: [promise('orders-deleted-once')],
  },
  {
    name: 'line links are written only after the requests',
    file: 'src/orders/push/push-order.ts',
    find: 'if (!isSaved) await deps.store.saveLines(leased, subOrders.links);',
    replace: '',
    tests: [promise('orders-cut-off'), `${orders('orders-crash')} > killed before or after any request`],
  },
  {
    name: 'a lost response counts as a refusal',
    file: 'src/orders/requests.ts',
    find: "{ kind: 'unknown', reason: error.message }",
    replace: "{ kind: 'failed', reason: error.message, failure: 'permanent' }",
    tests: [promise('orders-sent-again')],
  },
  {
    name: 'a line that is refused when it is sent again forgets its first request',
    file: 'src/orders/push/send-sub-orders.ts',
    find: "sent.failure === 'permanent' && !isSentAgain)",
    replace: "sent.failure === 'permanent')",
    tests: [`${promise('orders-sent-again')} > the service refuses a line when it is sent again`],
  },
  {
    name: 'a creation that is found is not watched for copies',
    file: 'src/orders/order/sub-orders.ts',
    find: '{ subOrder, isOurs: true, idsBefore }',
    replace: '{ subOrder, isOurs: true, idsBefore: null }',
    tests: [orders('sub-orders')],
  },
  {
    name: 'a creation without response is watched for a few minutes',
    file: 'src/orders/backoff.ts',
    find: 'lookAgainMs = 60 * minuteMs',
    replace: 'lookAgainMs = 5 * minuteMs',
    tests: [`${promise('orders-matching')} > a push that another line of the order makes due`],
  },
  {
    name: 'a creation that is sent again is watched from its first request',
    file: 'sql/warehouse/statements/write_line_links.sql',
    find: 'linked_at = excluded.linked_at',
    replace: 'linked_at = sub_order_links.linked_at',
    tests: [`${promise('orders-matching')} > the hour in which copies are looked for`],
  },
  // Orders: removals.
  {
    name: 'a sub-order of somebody else that a line takes over counts as ours',
    file: 'src/orders/order/sub-orders.ts',
    find: 'subOrder !== undefined && links.some((link) => isCopy(subOrder, link))',
    replace: 'subOrder !== undefined',
    tests: [orders('sub-orders')],
  },
  {
    name: 'a deletion without response is taken for done',
    file: 'src/orders/push/delete-order.ts',
    find: "if (after.kind !== 'absent') return",
    replace: "if (after.kind === 'failed') return",
    tests: [promise('orders-accepted')],
  },
  {
    name: 'an order that lost all of its lines loses its sub-orders',
    file: 'src/orders/push/push-order.ts',
    find: '!isEmptied(desired) && (await deps',
    replace: '(await deps',
    tests: [`${orders('orders-removals')} > an order that lost all of its lines`],
  },
  {
    name: 'sub-orders are removed without the allowance',
    file: 'src/orders/push/push-order.ts',
    find: 'held > 0 ? [] : subOrders.remove',
    replace: 'subOrders.remove',
    tests: [`${orders('orders-removals')} > of an order whose removals the allowance`],
  },
  {
    name: 'an order that vanished is deleted by the first rescan that misses it',
    file: 'src/orders/push/vanished-orders.ts',
    find: 'hasWaited && missing.has(code)',
    replace: 'missing.has(code)',
    tests: [`${promise('rescan')} > an order that vanished is deleted by the second`],
  },
  {
    name: 'an order that is back in the shop when its turn comes is deleted',
    file: 'src/orders/push/vanished-orders.ts',
    find: 'leased.isNew || (await missingInShop(deps.shop, [code])).length === 0',
    replace: 'leased.isNew',
    tests: [`${promise('rescan')} > an order that is back in the shop when its turn comes`],
  },
  {
    name: 'a truncated table deletes orders',
    file: 'src/orders/push/vanished-orders.ts',
    find: '!(await isAnyPresent(db, since))',
    replace: 'due.length === 0',
    tests: [`${promise('rescan')} > a truncated table`],
  },
  // Orders: contact.
  {
    name: 'an order that was made again counts as sent with what the lost one had',
    file: 'src/orders/push/push-order.ts',
    find: 'isMadeAgain ? [] : link.sentFields',
    replace: 'link.sentFields',
    tests: [`${promise('orders-contact')} > an old order that is pushed again goes without contact`],
  },
  {
    name: 'a contact that the service keeps is taken for cleared',
    file: 'src/orders/push/post-order.ts',
    find: 'return { ...last, notCleared: shownWithoutShop(desired, last.detail).filter(isWorthNaming) };',
    replace: 'return last;',
    tests: [`${promise('orders-contact')} > a service that keeps what the shop cleared`],
  },
  // Orders: cursor, due orders, a false done.
  {
    name: 'the cursor moves although a step failed',
    file: 'jobs/define-run.ts',
    find: 'end.failures.length === 0 || definition.completesAlways',
    replace: 'true',
    tests: [`${promise('feed-killed')} > a step that fails leaves a first push`],
  },
  {
    name: 'an order that is dated ahead takes the cursor with it',
    file: 'src/orders/which/changed-orders.ts',
    find: 'const isAhead = isByCode || (newest !== undefined && msOf(newest) > msOf(shopNow));',
    replace: 'const isAhead = isByCode;',
    tests: [orders('where-to-start')],
  },
  {
    name: 'the dead letters of an order that failed in part are closed when it did not change',
    file: 'src/warehouse/orders/due-orders.ts',
    find: 'l.fingerprint = g.fingerprint and l.failed_pushes = 0',
    replace: 'l.fingerprint = g.fingerprint',
    tests: [`${orders('orders-alone')} > a code, a line code and a product code`],
  },
  // The check for another service.
  {
    name: 'a warehouse that belongs to another service is used',
    file: 'src/app/require-same-service.ts',
    find: 'if (!(await hasOnlyUnknown(config, known))) return undefined;',
    replace: 'if (before) return undefined;',
    tests: [promise('other-service')],
  },
  {
    name: 'a service that moved is another one',
    file: 'src/app/require-same-service.ts',
    find: 'if (order && isSameCode(order.code, code)) return false;',
    replace: '',
    tests: [promise('other-service')],
  },
  // The client.
  {
    name: 'a create is repeated after a lost response',
    file: 'src/review-api/http/retry-policy.ts',
    find: '!attempt.repeatable && mayBeCarriedOut(failure)',
    replace: '!attempt.repeatable && attempt.repeatable',
    tests: ['test/review-api/retry-policy.test.ts'],
  },
  // Reviews: reading and proof.
  {
    name: 'a list is read from its first page to its last',
    file: 'src/reviews/read/read-list.ts',
    find: '  for (let at = number; at >= 1; at -= 1) {',
    replace: '  for (let at = 1; at <= number; at += 1) {',
    tests: pureReviews,
  },
  {
    name: 'a list is whole whatever the service counts',
    file: 'src/reviews/read/read-list.ts',
    find: 'if (seen.size >= (top.number - 1) * size + recordsOn(end))',
    replace: 'if (seen.size > 0)',
    tests: pureReviews,
  },
  {
    name: 'two readings agree although a record was shown twice',
    file: 'src/reviews/read/read-list.ts',
    find: 'one.length === other.length &&',
    replace: '',
    tests: pureReviews,
  },
  {
    name: 'what the last page of a longer list shows is known of all parts',
    file: 'src/reviews/read/read-span.ts',
    find: 'second !== undefined && second < cut;',
    replace: 'second !== undefined;',
    tests: pureReviews,
  },
  {
    name: 'thirty pages are not too many',
    file: 'src/reviews/read/read-list.ts',
    find: 'limitsOf(deps).pages - 1;',
    replace: 'limitsOf(deps).pages;',
    tests: pureReviews,
  },
  {
    name: 'a refused page behind a full one ends the list',
    file: 'src/reviews/read/read-list.ts',
    find: 'if (!isShort && !(await endsBehindFullPage(reading, query, last))) throw refusal;',
    replace: 'if (!isShort && last.size === 0) throw refusal;',
    tests: pureReviews,
  },
  {
    name: 'the last minute counts as covered',
    file: 'src/reviews/read/reading.ts',
    find: 'const justNow = 60;',
    replace: 'const justNow = 0;',
    tests: [`${promise('reviews-watermark')} > the minute before a reading began`],
  },
  {
    name: 'a page lands after its span was entered',
    file: 'src/reviews/export-window.ts',
    find: 'const landed = await landPage(deps.warehouse, page);',
    replace:
      'const landed = { inserted: 0, updated: 0, unchanged: 0, refused: 0 };\n    setTimeout(() => void landPage(deps.warehouse, page).catch(() => {}), 100);',
    tests: [`${reviews('reviews-crash')} > a first sync killed`],
  },
  // Reviews: watermark and gaps.
  {
    name: 'the watermark is the time',
    file: 'src/reviews/plan-sync-reviews.ts',
    find: 'return Math.min(now - lag, Math.max(quiet, seen ?? 0));',
    replace: 'return now - lag + 0 * ((seen ?? 0) + quiet);',
    tests: [promise('reviews-watermark')],
  },
  {
    name: 'clocks may differ by any time',
    file: 'src/reviews/review-bounds.ts',
    find: 'if (Math.abs(days) <= 1) return;',
    replace: 'if (Math.abs(days) <= 1e9) return;',
    tests: [promise('reviews-obstacles')],
  },
  {
    name: 'what failed is no open gap',
    file: 'src/reviews/plan-sync-reviews.ts',
    find: "      await openGap(db, axis, { span, kind: 'failed', reason: failure });\n",
    replace: '      continue;\n',
    tests: [`${promise('cursor-waits')} > a window that the warehouse cannot store`],
  },
  {
    name: 'a gap is closed whole when a part of it was read',
    file: 'src/warehouse/reviews/open-gaps.ts',
    find: '- tstzmultirange(tstzrange(',
    replace: '- tstzmultirange(tstzrange(start_at, end_at)) - tstzmultirange(tstzrange(',
    tests: [warehouse('coverage-ledger'), promise('reviews-obstacles')],
  },
  // Reviews: deletions, versions.
  {
    name: 'a review is marked deleted without asking for it',
    file: 'src/reviews/confirm-deleted.ts',
    find: 'if (body === undefined) confirmed.gone',
    replace: 'if (body || !body) confirmed.gone',
    tests: [`${promise('reviews-obstacles')} > reviews that are only hidden from the lists are not deleted`],
  },
  {
    name: 'a service that says 404 to everything is believed',
    file: 'src/reviews/confirm-deleted.ts',
    find: 'if (notKnown !== undefined) return',
    replace: "if (notKnown === '') return",
    tests: [`${promise('reviews-obstacles')} > a service that answers 404 to every id deletes nothing`],
  },
  {
    name: 'suspects that could not be asked about are forgotten',
    file: 'src/warehouse/reviews/absent-reviews.ts',
    find: `    limit \${limit}\`.execute(db);\n  return rows;`,
    replace: `    limit \${limit}\`.execute(db);\n  await sql\`delete from sync.absent_reviews\`.execute(db);\n  return rows;`,
    tests: [`${promise('reviews-obstacles')} > a review that cannot be asked about stays suspected`],
  },
  {
    name: 'reconcile reads all that any job has ever covered only once',
    file: 'src/reviews/reconcile.ts',
    find: "'created', { since, job: options.job }",
    replace: "'created', { since }",
    tests: [`${promise('reviews-reconcile')} > what a sync has read does not count as read by reconcile`],
  },
  // Runs.
  {
    name: 'a run without failed windows alone is concluded',
    file: 'jobs/define-run.ts',
    find: 'end.failures.length === 0 || definition.completesAlways',
    replace: 'end.failures.length === 0',
    tests: [promise('cursor-waits'), promise('reviews-obstacles')],
  },
  {
    name: 'the queue is closed while the worker still sets the schedules again',
    file: 'src/queue/schedules.ts',
    find: '      await current;',
    replace: '',
    tests: ['test/queue/schedules.test.ts > the schedules that are being restored'],
  },
  {
    name: 'a worker that is stopped waits for the shop',
    file: 'src/app/app.ts',
    find: 'slicesAtATime + 1, signal: abort.signal }',
    replace: 'slicesAtATime + 1 }',
    tests: ['test/queue/stopped-worker.test.ts > a worker that is stopped while the shop takes long'],
  },
  // Counts behind bi.
  {
    name: 'a review that moves is touched only as it is now',
    file: 'sql/warehouse/statements/land_reviews.sql',
    find: 'from earlier join changed using (id)',
    replace: 'from earlier join changed using (id) where false',
    tests: [warehouse('counts')],
  },
  {
    name: 'a deletion touches nothing',
    file: 'src/warehouse/reviews/absent-reviews.ts',
    find: "select 'review', created_at, product_id, order_code from marked",
    replace: "select 'review', created_at, product_id, order_code from marked where false",
    tests: [warehouse('counts')],
  },
  {
    name: 'an order is touched without the lines that it had',
    file: 'sql/warehouse/statements/write_line_links.sql',
    find: 's.order_code = l.order_code and s.sub_order_id is not null',
    replace: 's.order_code = l.order_code and false',
    tests: [warehouse('counts')],
  },
];
