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
const pureOrders = [orders('pure-rules'), orders('contact-rule'), orders('diff-sub-orders')];
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
    tests: [warehouse('orders-fenced'), warehouse('order-leases')],
  },
  {
    name: 'writes are sent until the very end of the lease',
    file: 'src/warehouse/orders/order-store.ts',
    find: 'performance.now() - renewedAtMs <= leaseMs / 4',
    replace: 'performance.now() - renewedAtMs <= leaseMs',
    tests: [warehouse('order-leases')],
  },
  {
    name: 'a stale copy of an order is pushed',
    file: 'src/orders/push/push-order.ts',
    find: 'leased.link.pushedAt !== null && leased.link.pushedAt >= readAt',
    replace: 'leased.link.pushedAt !== null && leased.link.pushedAt > new Date()',
    tests: [orders('older-reading')],
  },
  {
    name: 'the order is not known after a lost POST',
    file: 'src/orders/push/push-order.ts',
    find: 'wasSent = true;',
    replace: 'wasSent = false;',
    tests: [warehouse('orders-fenced')],
  },
  {
    name: 'line links are written only after the requests',
    file: 'src/orders/push/push-order.ts',
    find: 'saveLines(leased, { lines, dropLinks, unseen })',
    replace: 'saveLines(leased, { lines: [], dropLinks, unseen })',
    tests: [`${orders('orders-crash')} > killed before or after any statement`],
  },
  {
    name: 'a create without a response is not looked for',
    file: 'src/orders/push/order-requests.ts',
    find: 'error.status !== 500 && error.status !== 503',
    replace: 'error.status === 500 && error.status === 503',
    tests: [promise('orders-matching'), orders('orders-crash')],
  },
  {
    name: 'a pending line may take a sub-order that was there before',
    file: 'src/orders/order/match-sub-orders.ts',
    find: 'free.find(link.content, like, (one) => isNewSince(link, one))',
    replace: 'free.find(link.content, like)',
    tests: [...pureOrders, 'test/models/models.test.ts'],
  },
  {
    name: 'a creation that is not shown is forgotten with its line',
    file: 'src/orders/order/diff-sub-orders.ts',
    find: 'unseen: withNotShown(unseen, notShown)',
    replace: 'unseen',
    tests: [orders('diff-sub-orders'), promise('orders-sent-again')],
  },
  {
    name: 'removals that are held back count as waiting for another run',
    file: 'src/warehouse/orders/order-removals.ts',
    find: `0)::integer as removals from sync.order_links
    where removals_wanted > 0 and not removals_held\``,
    replace: `0)::integer as removals from sync.order_links
    where removals_wanted > 0\``,
    tests: [`${orders('orders-removals')} > half of all lines gone at once`],
  },
  {
    name: 'each run reads orders again that are known to take too long',
    file: 'src/orders/order/read-from-shop.ts',
    find: 'slow.get(code)?.isDue === true',
    replace: 'slow.has(code)',
    tests: [`${orders('orders-alone')} > an order that takes too long is not read by the runs of the next ten minutes`],
  },
  {
    name: 'the queue is closed while the worker still sets the schedules again',
    file: 'src/queue/schedules.ts',
    find: '      await current;',
    replace: '',
    tests: ['test/queue/schedules.test.ts > the schedules that are being restored'],
  },
  {
    name: 'what is found for a removed line need not be exactly what was sent',
    file: 'src/orders/order/match-sub-orders.ts',
    find: "if (like === 'similar' && !wanted.has(link.lineCode)) continue;",
    replace: '',
    tests: [`${promise('orders-sent-again')} > the shop removes a line whose creation was lost`],
  },
  {
    name: 'sub-orders of a deleted order are looked for in the one that took its place',
    file: 'src/orders/push/hidden-sub-orders.ts',
    find: 'const isSameOrder = attempt.orderId === null || attempt.orderId === order.id;',
    replace: 'const isSameOrder = true;',
    tests: [`${promise('orders-matching')} > sub-orders of an order that was deleted`],
  },
  {
    name: 'the product alone makes a match',
    file: 'src/orders/order/same-content.ts',
    find: "return sameOptions || samePrice ? 'similar' : 'different';",
    replace: "return 'similar';",
    tests: pureOrders,
  },
  {
    name: 'options are not compared when a sub-order is adopted',
    file: 'src/orders/order/same-content.ts',
    find: "if (sameOptions && samePrice) return 'exact';",
    replace: "if (samePrice) return 'exact';",
    tests: pureOrders,
  },
  {
    name: 'a removed line takes the sub-order of somebody else with it',
    file: 'src/orders/order/diff-sub-orders.ts',
    find: 'else if (idsBefore === null)',
    replace: 'else if (idsBefore === undefined)',
    tests: [...pureOrders, orders('orders-removals')],
  },
  {
    name: 'a sub-order of which the number of reviews is not known is removed',
    file: 'src/orders/order/diff-sub-orders.ts',
    find: 'if (subOrder.reviews_count !== 0) diff.kept.push({ lineCode, subOrderId: subOrder.id, why: ',
    replace: 'if (Number(subOrder.reviews_count ?? 0) > 0) diff.kept.push({ lineCode, subOrderId: subOrder.id, why: ',
    tests: [...pureOrders, orders('orders-removals')],
  },
  {
    name: 'an order of which the number of reviews is not known is deleted',
    file: 'src/orders/push/delete-order.ts',
    find: 'order.sub_orders.some((subOrder) => subOrder.reviews_count !== 0)',
    replace: 'order.sub_orders.some((subOrder) => subOrder.reviews_count)',
    tests: [orders('orders-removals')],
  },
  {
    name: 'another order that took the id is deleted',
    file: 'src/orders/push/delete-order.ts',
    find: '!isSameCode(order.code, leased.orderCode)',
    replace: '!isSameCode(leased.orderCode, leased.orderCode)',
    tests: [orders('orders-removals')],
  },
  {
    name: 'an order that lost all of its lines loses its sub-orders',
    file: 'src/orders/push/removal-guard.ts',
    find: 'lines.length + waiting.length + faulty.length === 0',
    replace: 'lines.length + waiting.length + faulty.length < 0',
    tests: [...pureOrders, orders('orders-removals')],
  },
  {
    name: 'removals are unusual only where all vanish',
    file: 'src/orders/push/removal-guard.ts',
    find: 'removals > alwaysAllowed && removals > read * usualShare',
    replace: 'removals > alwaysAllowed && removals >= read',
    tests: [...pureOrders, orders('orders-removals')],
  },
  // Orders: removals that are held back.
  {
    name: 'removals that were held back are forgotten by a push that goes on',
    file: 'sql/warehouse/statements/record_orders.sql',
    find: 'removals_held = (g.removals_held or l.removals_held) and',
    replace: 'removals_held = g.removals_held and',
    tests: [`${orders('orders-removals')} > a push that began before its order was held back`],
  },
  {
    name: 'a worker that is stopped waits for the shop',
    file: 'src/app/app.ts',
    find: 'slicesAtATime + 1, signal: abort.signal }',
    replace: 'slicesAtATime + 1 }',
    tests: ['test/queue/stopped-worker.test.ts > a worker that is stopped while the shop takes long'],
  },
  {
    name: 'a refused push undoes what was held back meanwhile',
    file: 'sql/warehouse/statements/record_orders.sql',
    find: 'coalesce(g.removals_wanted, l.removals_held::integer * l.removals_wanted)',
    replace: 'coalesce(g.removals_wanted, 0)',
    tests: [`${orders('orders-removals')} > what another run holds back during a push`],
  },
  {
    name: 'an order is not read again whose lease a dead process has left',
    file: 'src/orders/push/push-order.ts',
    find: 'leased.link.pushedAt === null && deps.deletes',
    replace: 'leased.isNew && deps.deletes',
    tests: [`${promise('orders-deleted-once')} > a process that read`],
  },
  {
    name: 'the dead letter of what is held back closes',
    file: 'sql/warehouse/statements/record_orders.sql',
    find: "    and not (o.removals_held and d.kind = 'order')\n",
    replace: '',
    tests: [`${orders('orders-removals')} > a push that began before its order was held back`],
  },
  {
    name: 'removals that a run holds back are counted again by the next run',
    file: 'src/warehouse/orders/order-removals.ts',
    find: 'set removals_held = true, removals_run',
    replace: 'set removals_run',
    tests: [`${orders('orders-removals')} > what is left of removals that were held back`],
  },
  {
    name: 'an approved removal does not look whether it is held back',
    file: 'src/orders/push/push-order.ts',
    find: "(removals === 'approved' && !link.removalsHeld && ",
    replace: "(removals === 'approved' && ",
    tests: [`${orders('orders-removals')} > what another run has held back since it was counted`],
  },
  {
    name: 'a run removes what another run has noted since it counted',
    file: 'src/orders/push/push-order.ts',
    find: "if (wasPushed && deps.policy.removals === 'approved') return undefined;",
    replace: '',
    tests: [`${orders('orders-removals')} > a run that waits for an order removes only`],
  },
  {
    name: 'an order that is gone from the shop stays held back without a dead letter',
    file: 'src/warehouse/orders/order-revisits.ts',
    find: 'removals_wanted = 0, removals_held = false',
    replace: 'removals_wanted = 0',
    tests: [`${orders('orders-removals')} > deletions that were held back are held back again`],
  },
  {
    name: 'an error of a push forgets what is held back',
    file: 'src/warehouse/orders/order-store.ts',
    find: 'sql`case when removals_held then removals_wanted else 0 end`',
    replace: '0',
    tests: [`${orders('orders-removals')} > removals stay held back`],
  },
  {
    name: 'sync orders --allow-removals leaves out held removals beyond the first batch',
    file: 'src/orders/which/changed-orders.ts',
    find: "if (options.removals !== 'all') return undefined;",
    replace: 'return undefined;',
    tests: [`${orders('orders-removals')} > one run with --allow-removals reads all`],
  },
  // Orders: contact, cursor, fingerprint.
  {
    name: 'the service is believed to have every contact that it was sent',
    file: 'src/orders/push/post-order.ts',
    find: 'return shown === undefined || plainContact(shown) === plainContact(body[field]);',
    replace: 'return true;',
    tests: [`${promise('orders-contact')} > addresses that the service has erased`],
  },
  {
    name: 'the contact rule goes by the clock of this machine alone',
    file: 'src/orders/push/push-slice.ts',
    find: 'now: ageClock(deps.now, readAt),',
    replace: 'now: deps.now,',
    tests: [`${promise('orders-contact')} > an old order does not become young`],
  },
  {
    name: 'an old order is sent with its contact',
    file: 'src/orders/order/contact-rule.ts',
    find: "policy === 'young' && isYoung && !(",
    replace: "policy === 'young' && !(",
    tests: [...pureOrders, promise('orders-contact')],
  },
  {
    name: 'a contact that was withheld is sent when the order changes',
    file: 'src/orders/order/contact-rule.ts',
    find: "&& !(before.was === 'withheld' && isSame)",
    replace: '',
    tests: [...pureOrders, promise('orders-contact')],
  },
  {
    name: 'another contact than the one sent before is repeated',
    file: 'src/orders/order/contact-rule.ts',
    find: "before.was === 'sent' && isSame ?",
    replace: "before.was === 'sent' ?",
    tests: [...pureOrders, promise('orders-contact')],
  },
  {
    name: 'the fingerprint leaves out lines that wait',
    file: 'src/orders/order/desired-order.ts',
    find: 'waiting,\n      faulty: faulty',
    replace: 'faulty: faulty',
    tests: [...pureOrders, orders('orders-alone')],
  },
  {
    name: 'the cursor moves although a step failed',
    file: 'src/orders/which/changed-orders.ts',
    find: 'isHeld: state.isHeld || batch.failed',
    replace: 'isHeld: state.isHeld',
    tests: [`${orders('orders-alone')} > the cursor stays where it is when a step of the run has failed`],
  },
  {
    name: 'a cursor in the future of the shop is believed',
    file: 'src/orders/which/where-to-start.ts',
    find: 'Math.min(cursorMs, shopMs - passedMs)',
    replace: 'cursorMs',
    tests: [orders('where-to-start'), promise('feed-changes')],
  },
  {
    name: 'a cursor in the future of the shop is believed where nobody knows when it was taken',
    file: 'src/orders/which/where-to-start.ts',
    find: '  if (cursor.readTo === undefined && cursorMs > shopMs) return everything;\n',
    replace: '',
    tests: [orders('where-to-start')],
  },
  {
    name: 'an order that is dated ahead takes the cursor with it',
    file: 'src/orders/which/changed-orders.ts',
    find: "instantOf(key.at) > instantOf(latest) ? { at: latest, code: '' } : key;",
    replace: 'key;',
    tests: [`${orders('orders-alone')} > an order that is dated ahead`],
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
    name: 'a service that lost the newest records is another one',
    file: 'src/warehouse/connected-service.ts',
    find: 'const parts = [0, 0.25, 0.5, 0.75];',
    replace: 'const parts: number[] = [];',
    tests: ['test/promises/other-service.test.ts'],
  },
  {
    name: 'another order with the same id makes a service the same one',
    file: 'src/app/require-same-service.ts',
    find: 'if (order && isSameCode(order.code, code)) return false;',
    replace: 'if (order) return false;',
    tests: [promise('other-service')],
  },
  {
    name: 'a service that moved is another one',
    file: 'src/app/require-same-service.ts',
    find: 'if (order && isSameCode(order.code, code)) return false;',
    replace: '',
    tests: [promise('other-service')],
  },
  {
    name: 'a service that knows only the reviews of the warehouse is another one',
    file: 'src/app/require-same-service.ts',
    find: "if (typeof date === 'string' && Date.parse(date) === createdAt.getTime()) return false;",
    replace: '',
    tests: [promise('other-service')],
  },
  {
    name: 'another review with the same id makes a service the same one',
    file: 'src/app/require-same-service.ts',
    find: "if (typeof date === 'string' && Date.parse(date) === createdAt.getTime()) return false;",
    replace: "if (typeof date === 'string') return false;",
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
  {
    name: 'an answer of 429 costs the request its time',
    file: 'src/review-api/http/retry-policy.ts',
    find: "failure.kind !== 'limited' && spentMs + delayMs > giveUpAfterMs",
    replace: 'spentMs + delayMs > giveUpAfterMs',
    tests: ['test/review-api/retry-policy.test.ts', 'test/review-api/repeats.test.ts'],
  },
  // Reviews: reading and proof.
  {
    name: 'a short page ends a span',
    file: 'src/reviews/read/classify-page.ts',
    find: 'return isFull || (seconds.length === 0 ? false : undefined);',
    replace: 'return isFull;',
    tests: pureReviews,
  },
  {
    name: 'an unsorted page is walked on',
    file: 'src/reviews/read/classify-page.ts',
    find: 'if (last === undefined || !isSorted(seconds))',
    replace: 'if (last === undefined)',
    tests: pureReviews,
  },
  {
    name: 'a full page proves the end of a list',
    file: 'src/reviews/read/classify-page.ts',
    find: 'if (shown >= size || shown !== count - size * (number - 1)) return false;',
    replace: 'if (shown > size || shown !== count - size * (number - 1)) return false;',
    tests: pureReviews,
  },
  {
    name: 'a span is proven whatever its last page shows',
    file: 'src/reviews/read/classify-page.ts',
    find: 'if (shown >= size || shown !== count - size * (number - 1)) return false;',
    replace: 'if (shown >= size) return false;',
    tests: pureReviews,
  },
  {
    name: 'the rest of a cut span begins with all of the page that cuts it',
    file: 'src/reviews/read/reading.ts',
    find: 'if (second === undefined || second >= first) reading.seen.set(id, second);',
    replace: 'reading.seen.set(id, second);',
    tests: [`${reviews('read-window')} > reviews that lie evenly cost at most`],
  },
  {
    name: 'a refused page behind a full one ends the list',
    file: 'src/reviews/read/read-pages.ts',
    find: 'if ((sizes.at(-1) ?? 0) < largest || largest <= Math.max(1, limits.pageSize * shortPage)) return true;',
    replace: 'if (sizes.length > 0) return true;',
    tests: pureReviews,
  },
  {
    name: 'the last minute counts as covered',
    file: 'src/reviews/export-window.ts',
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
    find: 'if (serviceOffBy === undefined) return Math.min(latest, Math.max(quiet, seen ?? 0));',
    replace: 'if (serviceOffBy === undefined) return latest;',
    tests: [promise('reviews-watermark')],
  },
  {
    name: 'the clock of the service is believed whatever it shows',
    file: 'src/reviews/clocks.ts',
    find: 'if (Math.abs(service - ours) > errorAtMost) return',
    replace: 'if (Math.abs(service - ours) > 1e12) return',
    tests: [promise('reviews-clock')],
  },
  {
    name: 'what failed is no open gap',
    file: 'src/reviews/plan-sync-reviews.ts',
    find: "      await openGap(db, axis, { span, kind: 'step-failed', reason: failure });\n",
    replace: '      continue;\n',
    tests: [`${promise('cursor-waits')} > a window that the warehouse cannot store`],
  },
  {
    name: 'a cursor may go back',
    file: 'src/warehouse/runs/cursors.ts',
    find: 'then kept.position || excluded.position else excluded.position || kept.position',
    replace: 'then kept.position || excluded.position else kept.position || excluded.position',
    tests: [warehouse('cursors')],
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
    name: 'an older version of a review overwrites a newer one',
    file: 'sql/warehouse/statements/land_reviews.sql',
    find: 'excluded.updated_at >= kept.updated_at and ',
    replace: '',
    tests: [`${warehouse('reviews-land')} > an older version never overwrites a newer one`],
  },
  {
    name: 'a review that returns stays marked as deleted',
    file: 'sql/warehouse/statements/land_reviews.sql',
    find: 'deleted_at = null, synced_at',
    replace: 'synced_at',
    tests: [`${promise('reviews-reconcile')} > what is gone is marked, and what came back is unmarked`],
  },
  {
    name: 'a review is marked deleted without asking for it',
    file: 'src/reviews/confirm-deleted.ts',
    find: "(await exists(deps, id)) ? 'unlisted' : 'gone'",
    replace: "'gone'",
    tests: [`${promise('reviews-obstacles')} > a review that is only hidden from the lists is not deleted`],
  },
  {
    name: 'a service that says 404 to everything is believed',
    file: 'src/reviews/confirm-deleted.ts',
    find: 'if (missed > shown || !(await isAnyKnown(deps, absent)))',
    replace: 'if (missed > shown)',
    tests: [`${promise('reviews-obstacles')} > a service that answers 404 to every id deletes nothing`],
  },
  {
    name: 'suspects that could not be asked about are forgotten',
    file: 'src/warehouse/reviews/absent-reviews.ts',
    find: '    order by r.id`.execute(db);\n  return rows;',
    replace:
      '    order by r.id`.execute(db);\n  await sql`delete from sync.absent_reviews`.execute(db);\n  return rows;',
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
    name: 'what a run has waited is not saved',
    file: 'src/base/waits.ts',
    find: 'if (Object.keys(waits).length > 0) await save(waits)',
    replace: 'if (Object.keys(waits).length > 9) await save(waits)',
    tests: ['test/base/waits.test.ts'],
  },
  {
    name: 'requests that wait for the same at once are all counted',
    file: 'src/base/waits.ts',
    find: 'if (state.count === 0) settle(meter, kind, state.sinceMs);',
    replace: 'settle(meter, kind, state.sinceMs);',
    tests: ['test/base/waits.test.ts'],
  },
  {
    name: 'the waits of a run do not get to its row',
    file: 'jobs/define-run.ts',
    find: '(waits) => addWaits(app.warehouse.db, runId, waits)',
    replace: 'async () => {}',
    tests: [promise('run-waits')],
  },
  {
    name: 'an alarm ends no wait',
    file: 'src/base/alarm.ts',
    find: 'ring: () => rung.abort(),',
    replace: 'ring: () => {},',
    tests: ['test/cli/run-to-end.test.ts'],
  },
  {
    name: 'an alarm that has rung ends every later wait',
    file: 'src/base/alarm.ts',
    find: '      if (rung.signal.aborted) rung = new AbortController();\n',
    replace: '',
    tests: ['test/cli/run-to-end.test.ts'],
  },
  {
    name: 'the end of a run does not ring the alarm of its command',
    file: 'src/cli/ui/run-to-end.ts',
    find: 'for (const { alarm } of followed) alarm.ring();',
    replace: '',
    tests: ['test/cli/run-to-end.test.ts'],
  },
  {
    name: 'a run without failed windows alone is concluded',
    file: 'jobs/define-run.ts',
    find: 'end.failures.length === 0 || definition.completesAlways',
    replace: 'end.failures.length === 0',
    tests: [promise('cursor-waits'), promise('reviews-obstacles')],
  },
  {
    name: 'open dead letters leave a run done',
    file: 'jobs/define-run.ts',
    find: 'if (deadLetters > 0) {',
    replace: 'if (deadLetters > 1_000_000) {',
    tests: [orders('orders-alone'), warehouse('reviews-land')],
  },
];
