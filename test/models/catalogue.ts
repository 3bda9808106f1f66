/** What is explored of each protocol, and the defects that are put back. Used by the test and by `npm run models`. */
import { type Explored, explore, type Model } from './check.ts';
import { type OrderDesign, type OrderScenario, orderModel } from './orders.ts';
import { type ReviewDesign, type ReviewScenario, reviewModel } from './reviews.ts';

export type Exploration = { name: string; run(): Explored<unknown> };
/** @param bound of the faults in one order of events, where the scenario has more. */
export type Scenario = { name: string; run(bound?: number): Explored<unknown> };
/** A part of the design is taken away. `issue`: where the defect was found that it was built against. */
export type Revert = Exploration & { issue: string };
export type Protocol = { name: string; probes: readonly string[]; scenarios: Scenario[]; reverts: Revert[] };

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
  'a backfill beside a sync': { versions: [S, M], other: 'backfill', mayGrowOld: true, faultsAtMost: 1 },
  'a backfill of an old order': { versions: [S], isPassed: true, other: 'backfill', mayGrowOld: true, faultsAtMost: 2 },
  'another integration has pushed the order before': { versions: [both, S], foreign: ['M'], faultsAtMost: 1 },
  'another integration has pushed another size': { versions: [S], foreign: ['M'], faultsAtMost: 1 },
  'a sub-order of a removed line is reviewed': { versions: [both, S], mayBeReviewed: true, faultsAtMost: 1 },
  'a sub-order of a deleted order is reviewed': { versions: [S, deleted], mayBeReviewed: true, faultsAtMost: 1 },
} satisfies Record<string, OrderScenario>;

const orderReverts: [keyof OrderDesign, keyof typeof orderScenarios, issue: string][] = [
  ['writesAreFenced', 'the order is deleted', '11, 4'],
  ['sendsOnlyUnderLease', 'a line changes', '11, 4'],
  ['leaseOutlastsRequests', 'a value goes back to what it was', '11, 4'],
  ['leasesRunOut', 'two sizes of one product', '11, 17'],
  ['leaseMakesDue', 'a backfill of an old order', '27, D3'],
  ['failureMakesDue', 'two sizes of one product', '11, tests that did not bite'],
  ['forgetsFingerprintOfLostPush', 'a value goes back to what it was', 'found by this model'],
  ['linksBeforeRequests', 'two sizes of one product', '11, 5'],
  ['looksForLostCreate', 'two sizes of one product', '11, 3'],
  ['looksAgainAfterHour', 'two sizes of one product', '27, the design'],
  ['looksAgainForFound', 'two sizes of one product', 'found by this model'],
  ['looksAgainAfterFailure', 'two sizes of one product', 'found by this model'],
  ['refusalIsOfOneRequest', 'two sizes of one product', 'found by this model'],
  ['matchesByContent', 'another integration has pushed another size', '11, 3'],
  ['rereadsStaleCopy', 'a line changes', '11, the design'],
  ['rereadsAfterLostPush', 'a line gets a new code', 'found by this model'],
  ['rereadsNewOrder', 'the order is deleted', 'found by this model'],
  ['readsLookback', 'a value goes back to what it was', '11, the design'],
  ['contactDecidedWithLease', 'a backfill of an old order', '27, D1'],
  ['judgesAgeAtRequest', 'a backfill beside a sync', '27, the design'],
  ['removalsFromAllowance', 'more lines are removed than the allowance covers', '27, D9'],
  ['keepsEmptiedOrder', 'an order loses all its lines', '11, 15'],
  ['sparesReviews', 'a sub-order of a removed line is reviewed', '11, the design'],
  ['sparesForeign', 'another integration has pushed the order before', '11, the design'],
];

const reviewScenarios = {
  'the first sync': {
    kinds: ['sync'],
    existing: [0, 1],
    mayBeEdited: 1,
    faults: ['crash', 'window', 'short list'],
    faultsAtMost: 1,
  },
  'a review is written while a sync reads': {
    kinds: ['sync'],
    existing: [0],
    isSynced: true,
    mayBeWritten: 1,
    faults: ['crash', 'window', 'lost run'],
    faultsAtMost: 1,
  },
  'reviews are edited while a sync reads': {
    kinds: ['sync'],
    existing: [0, 1],
    isSynced: true,
    mayBeEdited: 2,
    faults: ['window'],
    faultsAtMost: 1,
  },
  'a review is listed late': {
    kinds: ['sync'],
    lastTick: 2,
    existing: [],
    mayBeWritten: 2,
    faults: ['late'],
    faultsAtMost: 1,
  },
  'a review or its change is listed later than the overlap': {
    kinds: ['reconcile'],
    existing: [0],
    isSynced: true,
    mayBeWritten: 1,
    mayBeEdited: 1,
    faults: ['late'],
    faultsAtMost: 1,
  },
  'the clock that dates reviews is behind': {
    kinds: ['sync'],
    existing: [0],
    isSynced: true,
    mayBeWritten: 1,
    datesBehind: 2,
    faults: ['window'],
    faultsAtMost: 1,
  },
  'one tick is refused for good': { kinds: ['sync'], existing: [0, 1], mayBeEdited: 1, refused: 1 },
  'one tick is refused for good while a review is deleted': {
    kinds: ['reconcile'],
    existing: [0, 1],
    isSynced: true,
    mayBeDeleted: 1,
    refused: 1,
  },
  'reviews are deleted or hidden': {
    kinds: ['reconcile'],
    existing: [0, 1],
    isSynced: true,
    mayBeDeleted: 1,
    faults: ['no response', 'hidden', 'crash', 'lost run', 'short list'],
    faultsAtMost: 2,
  },
  'a deleted review is restored in an older version': {
    kinds: ['reconcile'],
    existing: [0],
    isSynced: true,
    mayBeEdited: 1,
    mayBeDeleted: 1,
    faults: ['restored'],
    faultsAtMost: 1,
  },
  'sync and reconcile read at once': {
    kinds: ['sync', 'reconcile'],
    lastTick: 2,
    existing: [0],
    isSynced: true,
    mayBeEdited: 1,
  },
  'a backfill is interrupted and repeated': {
    kinds: ['backfill'],
    existing: [0],
    mayBeWritten: 1,
    mayBeEdited: 1,
    faults: ['window', 'crash', 'short list', 'old overview', 'lost run'],
    faultsAtMost: 1,
  },
  'a backfill is repeated after a review was listed late': {
    kinds: ['backfill'],
    existing: [0],
    mayBeWritten: 1,
    faults: ['late'],
    faultsAtMost: 1,
  },
  'a gap has opened since a backfill was interrupted': {
    kinds: ['sync', 'backfill'],
    overlap: 0,
    existing: [0],
    mayBeEdited: 1,
    // The backfill had read review 0; then it was edited, the sync of that tick failed, and the watermark moved on.
    begin: {
      now: 2,
      reviews: [{ created: 0, version: 1, listed: 1, isLate: false, isHidden: false }],
      rows: [{ version: 0, isDeleted: false }],
      cursor: 2,
      gaps: { created: 0, updated: 0b10 },
      backfilled: 0b1,
    },
  },
} satisfies Record<string, ReviewScenario>;

const reviewReverts: [keyof ReviewDesign, keyof typeof reviewScenarios, issue: string][] = [
  ['continuesOnlyUnfinished', 'a backfill is repeated after a review was listed late', '12, 3'],
  ['failureDelaysNothingElse', 'one tick is refused for good', '12, 4'],
  ['failureDelaysNothingElse', 'one tick is refused for good while a review is deleted', '12, 4'],
  ['failedWindowIsOpenGap', 'the first sync', '12, 4'],
  ['suspectsWithCoverage', 'reviews are deleted or hidden', '12, 5'],
  ['keepsUnansweredSuspects', 'reviews are deleted or hidden', '12, 5'],
  ['provesBeforeEntering', 'the first sync', '12, 6 and 7'],
  ['boundsFromList', 'a backfill is interrupted and repeated', '12, 14'],
  ['asksById', 'reviews are deleted or hidden', '12, tests that did not bite'],
  ['newestVersionWins', 'sync and reconcile read at once', '12, the design'],
  ['deletedRowsAreReplaced', 'a deleted review is restored in an older version', 'found beside this model'],
  ['watermarkFollowsData', 'the clock that dates reviews is behind', '12, the design'],
  ['readsOverlap', 'a review is listed late', '12, the design'],
  ['closesOnlyGapsReadSince', 'a gap has opened since a backfill was interrupted', 'found beside this model'],
  ['gapsEndWithThePresent', 'the first sync', 'found beside this model'],
  ['leavesOutJustNow', 'a review or its change is listed later than the overlap', '12, the design'],
];

/** A protocol from its scenarios, and the parts of its design that are taken away in one of them. */
function protocolOf<State, Of extends { faultsAtMost?: number }, Design, Name extends string>(
  name: string,
  model: (scenario: Of, changed?: Partial<Design>) => Model<State>,
  scenarios: Record<Name, NoInfer<Of>>,
  reverts: readonly [part: keyof NoInfer<Design> & string, scenario: NoInfer<Name>, issue: string][],
): Protocol {
  const all = Object.entries<Of>(scenarios);
  return {
    name,
    probes: Object.keys(model(all[0]?.[1] as Of).probes),
    scenarios: all.map(([of, scenario]) => ({
      name: of,
      run(bound = Number.POSITIVE_INFINITY) {
        return explore(model({ ...scenario, faultsAtMost: Math.min(scenario.faultsAtMost ?? 0, bound) }));
      },
    })),
    reverts: reverts.map(([part, of, issue]) => ({
      name: `without ${part}, ${of}`,
      issue,
      run: () => explore(model(scenarios[of], { [part]: false } as Partial<Design>)),
    })),
  };
}

export const protocols: readonly Protocol[] = [
  protocolOf('each line once', orderModel, orderScenarios, orderReverts),
  protocolOf('watermark, coverage, reconcile', reviewModel, reviewScenarios, reviewReverts),
];
