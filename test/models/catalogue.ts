/** What is explored of the protocol, and the defects that are put back. Used by the test and by `npm run models`. */
import { type Explored, explore } from './check.ts';
import { type OrderDesign, type OrderScenario, orderModel } from './orders.ts';

type Exploration = { name: string; run(): Explored<unknown> };
/** @param bound of the faults in one order of events, where the scenario has more. */
type Scenario = { name: string; run(bound?: number): Explored<unknown> };
/** A part of the design is taken away. `issue`: where the defect was found that it was built against. */
type Revert = Exploration & { issue: string };

const S = { lines: { a: 'S' } } as const;
const M = { lines: { a: 'M' } } as const;
const both = { lines: { a: 'S', b: 'M' } } as const;
const deleted = { lines: { a: 'S' }, isDeleted: true } as const;

const orderScenarios = {
  'two sizes of one product': { versions: [both], faultsAtMost: 2 },
  'two equal lines': { versions: [{ lines: { a: 'S', b: 'S' } }], faultsAtMost: 2 },
  'one line, and much goes wrong': { versions: [S], allowance: 4, faultsAtMost: 3 },
  'a line changes': { versions: [S, M], faultsAtMost: 1 },
  'a value goes back to what it was': { versions: [S, M, S], faultsAtMost: 1 },
  'a line gets a new code': { versions: [S, { lines: { x: 'S' } }], faultsAtMost: 2 },
  'a line gets a new code and changes': { versions: [S, { lines: { x: 'M' } }], faultsAtMost: 1 },
  'a line is removed': { versions: [both, { lines: { b: 'M' } }], faultsAtMost: 1 },
  'more lines are removed than the allowance covers': {
    versions: [{ lines: { a: 'S', b: 'M', c: 'S' } }, { lines: { b: 'M' } }],
    allowance: 1,
    other: 'allowing',
    faultsAtMost: 0,
  },
  'an order loses all its lines': { versions: [S, { lines: {} }], other: 'allowing', faultsAtMost: 1 },
  'the order is deleted': { versions: [S, deleted], faultsAtMost: 2 },
  'the order is deleted beyond the allowance': {
    versions: [S, deleted],
    allowance: 0,
    other: 'allowing',
    faultsAtMost: 1,
  },
  'the order is deleted and returns': { versions: [S, deleted, S], faultsAtMost: 1 },
  'a backfill beside a sync': { versions: [S, M], other: 'backfill', faultsAtMost: 1 },
  'an order grows old': { versions: [S], other: 'backfill', mayGrowOld: true, faultsAtMost: 1 },
  'a backfill of an old order': { versions: [S], isPassed: true, other: 'backfill', mayGrowOld: true, faultsAtMost: 2 },
  'another integration has pushed the order before': { versions: [both, S], foreign: ['M'], faultsAtMost: 1 },
  'another integration has pushed another size': { versions: [S], foreign: ['M'], faultsAtMost: 1 },
  'a sub-order of a removed line is reviewed': { versions: [both, S], mayBeReviewed: true, faultsAtMost: 1 },
  'a sub-order of a deleted order is reviewed': { versions: [S, deleted], mayBeReviewed: true, faultsAtMost: 1 },
} satisfies Record<string, OrderScenario>;

const orderReverts: [keyof OrderDesign, keyof typeof orderScenarios, issue: string][] = [
  ['writesAreFenced', 'the order is deleted', '11, 4'],
  ['sendsOnlyUnderLease', 'a line changes', '11, 4'],
  ['leaseOutlastsRequests', 'a line changes', '11, 4'],
  ['leasesRunOut', 'two sizes of one product', '11, 17'],
  ['leaseMakesDue', 'a backfill of an old order', '27, D3'],
  ['failureMakesDue', 'two sizes of one product', '11, tests that did not bite'],
  ['forgetsFingerprintOfLostPush', 'a line changes', 'found by this model'],
  ['linksBeforeRequests', 'two sizes of one product', '11, 5'],
  ['looksForLostCreate', 'two sizes of one product', '11, 3'],
  ['looksAgainAfterHour', 'two sizes of one product', '27, the design'],
  ['looksAgainForFound', 'one line, and much goes wrong', 'found by this model'],
  ['looksAgainAfterFailure', 'one line, and much goes wrong', 'found by this model'],
  ['refusalIsOfOneRequest', 'one line, and much goes wrong', 'found by this model'],
  ['matchesByContent', 'another integration has pushed another size', '11, 3'],
  ['rereadsStaleCopy', 'a line changes', '11, the design'],
  ['rereadsAfterLostPush', 'a line gets a new code', 'found by this model'],
  ['rereadsNewOrder', 'the order is deleted', 'found by this model'],
  ['readsLookback', 'a value goes back to what it was', '11, the design'],
  ['contactDecidedWithLease', 'a backfill of an old order', '27, D1'],
  ['judgesAgeAtRequest', 'an order grows old', '27, the design'],
  ['removalsFromAllowance', 'more lines are removed than the allowance covers', '27, D9'],
  ['keepsEmptiedOrder', 'an order loses all its lines', '11, 15'],
  ['sparesReviews', 'a sub-order of a removed line is reviewed', '11, the design'],
  ['sparesForeign', 'another integration has pushed the order before', '11, the design'],
];

const all: [string, OrderScenario][] = Object.entries(orderScenarios);

const anyModel = orderModel(orderScenarios['two equal lines']);
export const probes: readonly string[] = Object.keys(anyModel.probes);
export const promises: readonly string[] = [
  ...Object.keys(anyModel.invariants),
  `once faults stop, ${anyModel.goal.name}`,
];

export const scenarios: readonly Scenario[] = all.map(([name, scenario]) => ({
  name,
  run: (bound = Number.POSITIVE_INFINITY) =>
    explore(orderModel({ ...scenario, faultsAtMost: Math.min(scenario.faultsAtMost, bound) })),
}));

/** Explored without faults first, then with one more each time: most defects need fewer than the scenario has. */
export const reverts: readonly Revert[] = orderReverts.map(([part, of, issue]) => ({
  name: `without ${part}, ${of}`,
  issue,
  run: () => {
    const { faultsAtMost: most, ...scenario } = orderScenarios[of];
    for (let faultsAtMost = 0; ; faultsAtMost += 1) {
      const explored = explore(orderModel({ ...scenario, faultsAtMost }, { [part]: false }));
      if (explored.failure || faultsAtMost === most) return explored;
    }
  },
}));
