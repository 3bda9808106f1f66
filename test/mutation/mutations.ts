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
};

const promise = (name: string) => `test/promises/${name}.test.ts`;
const orders = (name: string) => `test/orders/${name}.test.ts`;
const reviews = (name: string) => `test/reviews/${name}.test.ts`;
const warehouse = (name: string) => `test/warehouse/${name}.test.ts`;
const pureReviews = [reviews('pure'), reviews('read-window'), reviews('read-odd-lists')];

export const mutations: readonly Mutation[] = [
  {
    name: 'a held lease can be taken',
    file: 'sql/warehouse/statements/lease_orders.sql',
    find: 'where l.lease_owner is null or l.lease_expires_at < clock_timestamp()',
    replace: 'where true',
    tests: [warehouse('order-leases')],
  },
  {
    name: 'a push is recorded without the lease',
    file: 'sql/warehouse/statements/record_orders.sql',
    find: 'where l.order_code = g."orderCode" and l.lease_owner = g.token',
    replace: 'where l.order_code = g."orderCode"',
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
    name: 'a stale copy of an order is pushed',
    file: 'src/orders/push/push-order.ts',
    find: 'link.pushedAt === null || link.pushedAt >= readAt;',
    replace: 'link.pushedAt === null;',
    tests: [orders('older-reading')],
  },
  {
    name: 'line links are written only after the requests',
    file: 'src/orders/push/push-order.ts',
    find: 'await saveLines(deps, leased, memory.lines);',
    replace: '',
    tests: [`${promise('orders-matching')} > a process dies while it takes over a sub-order`],
  },
  {
    name: 'a lost response counts as a refusal',
    file: 'src/orders/requests.ts',
    find: "{ kind: 'unknown', reason: error.message }",
    replace: "{ kind: 'failed', reason: error.message, failure: 'permanent' }",
    tests: [promise('orders-sent-again')],
  },
  {
    name: 'a creation that is found is not watched for copies',
    file: 'src/orders/plan/sub-orders.ts',
    find: 'if (found) found.link = link;',
    replace: 'if (found) found.link = { ...link, idsBefore: null };',
    tests: [orders('sub-orders')],
  },
  {
    name: 'a sub-order of somebody else that a line takes over counts as ours',
    file: 'src/orders/plan/sub-orders.ts',
    find: 'links.some((each) => isCopy(found.one, each, undefined, unit))',
    replace: 'true',
    tests: [orders('sub-orders')],
  },
  {
    name: 'a deletion without response is taken for done',
    file: 'src/orders/push/learn.ts',
    find: "if (sent.kind === 'done' || sent.kind === 'absent') return { memory, shown: 'absent' };",
    replace: "if (sent.kind !== 'failed' || !sent.isRefused) return { memory, shown: 'absent' };",
    tests: [promise('orders-accepted')],
  },
  {
    name: 'an order that lost all of its lines loses its sub-orders',
    file: 'src/orders/plan/plan-order.ts',
    find: '(allowRemovals || !isEmptied(order))',
    replace: '(allowRemovals || order)',
    tests: [`${orders('orders-removals')} > an order that lost all of its lines`],
  },
  {
    name: 'sub-orders are removed without the allowance',
    file: 'src/orders/plan/plan-order.ts',
    find: 'mayRemoveLines ? found.remove : []',
    replace: 'found.remove',
    tests: [`${orders('orders-removals')} > of an order whose removals the allowance`],
  },
  {
    name: 'an order that vanished is deleted by the first rescan that misses it',
    file: 'src/orders/push/vanished-orders.ts',
    find: 'absent.filter(({ hasWaited }) => hasWaited)',
    replace: 'absent',
    tests: [`${promise('rescan')} > an order that vanished is deleted by the second`],
  },
  {
    name: 'a contact that the service keeps is taken for cleared',
    file: 'src/orders/plan/plan-order.ts',
    find: 'shown.filter((field) => emptied.includes(field))',
    replace: '[]',
    tests: [`${promise('orders-contact')} > of what was never sent a phone number`],
  },
  {
    name: 'the cursor moves although a step failed',
    file: 'src/runs/define-run.ts',
    find: 'end.failures.length === 0 || definition.completesAlways',
    replace: 'true',
    tests: [`${promise('orders-killed')} > a step that fails leaves a first push`],
  },
  {
    name: 'a step of a run that has ended is run',
    file: 'src/runs/run-worker.ts',
    find: 'if (found === undefined || found.end) return found?.end ?? nothing;',
    replace: 'if (found === undefined) return nothing;',
    tests: ['test/queue/worker.test.ts'],
  },
  {
    name: 'a warehouse that belongs to another service is used',
    file: 'src/app/require-same-service.ts',
    find: 'if (problem) throw problem;',
    replace: '',
    tests: [promise('other-service')],
  },
  {
    name: 'a create is repeated after a lost response',
    file: 'src/review-api/http/retry-policy.ts',
    find: '!attempt.repeatable && mayBeCarriedOut(failure)',
    replace: '!attempt.repeatable && attempt.repeatable',
    tests: ['test/review-api/retry-policy.test.ts'],
  },
  {
    name: 'a list is read from its first page to its last',
    file: 'src/reviews/read/read-list.ts',
    find: '  for (const number of numbers) {',
    replace: '  for (const number of numbers.toReversed()) {',
    tests: pureReviews,
  },
  {
    name: 'a list is whole whatever the service counts',
    file: 'src/reviews/read/read-list.ts',
    find: 'shown.ids.size >= (number - 1) * full + recordsOn(end)',
    replace: 'shown.ids.size > 0',
    tests: pureReviews,
  },
  {
    name: 'a page lands after its span was entered',
    file: 'src/reviews/read/read-window.ts',
    find: 'const landed = await landPage(deps.warehouse, page);',
    replace:
      'const landed = { inserted: 0, updated: 0, unchanged: 0, refused: 0 };\n    setTimeout(() => void landPage(deps.warehouse, page).catch(() => {}), 100);',
    tests: [`${reviews('reviews-crash')} > a first sync killed`],
  },
  {
    name: 'what failed is no open gap',
    file: 'src/reviews/plan/plan-sync-reviews.ts',
    find: "      await openGap(db, axis, { span, kind: 'failed', reason: failure });\n",
    replace: '      continue;\n',
    tests: [`${promise('reviews-obstacles')} > a window that the warehouse cannot store`],
  },
  {
    name: 'a review is marked deleted without asking for it',
    file: 'src/reviews/verify/confirm-deleted.ts',
    find: "if (asked.kind === 'gone') gone.push",
    replace: "if (asked.kind !== 'failed') gone.push",
    tests: [`${promise('reviews-obstacles')} > reviews that are only hidden from the lists are not deleted`],
  },
  {
    name: 'a run without failed windows alone is concluded',
    file: 'src/runs/define-run.ts',
    find: 'end.failures.length === 0 || definition.completesAlways',
    replace: 'end.failures.length === 0',
    tests: [promise('reviews-obstacles')],
  },
  {
    name: 'a deletion touches nothing',
    file: 'sql/warehouse/statements/mark_deleted.sql',
    find: "select 'review', created_at, product_id, order_code from marked",
    replace: "select 'review', created_at, product_id, order_code from marked where false",
    tests: [warehouse('counts')],
  },
];
