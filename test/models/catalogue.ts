/** What is explored of each protocol, and the defects that are put back. Used by the test and by `npm run models`. */
import { type Explored, explore, type Model } from './check.ts';
import { type FeedDesign, type FeedScenario, feedModel } from './feed.ts';
import { type OrderDesign, type OrderScenario, orderModel } from './orders.ts';
import { type RemovalDesign, type RemovalScenario, removalModel } from './removals.ts';
import { type ReviewDesign, type ReviewScenario, reviewModel } from './reviews.ts';

export type Exploration = { name: string; run(): Explored<unknown> };
/** A part of the design is taken away. `issue`: where the defect was found that it was built against. */
export type Revert = Exploration & { issue: string };
export type Protocol = { name: string; probes: readonly string[]; scenarios: Exploration[]; reverts: Revert[] };

const orderScenarios = {
  'two sizes of one product': { versions: [{ a: 'S', b: 'M' }], faults: 2 },
  'two equal lines': { versions: [{ a: 'S', b: 'S' }], faults: 2 },
  'a line changes': { versions: [{ a: 'S' }, { a: 'M' }], faults: 2 },
  'a value goes back to what it was': { versions: [{ a: 'S' }, { a: 'M' }, { a: 'S' }], faults: 1 },
  'a line gets a new code': { versions: [{ a: 'S' }, { x: 'S' }], faults: 1 },
  'a line gets a new code and changes': { versions: [{ a: 'S' }, { x: 'M' }], faults: 1 },
  'a line is removed': { versions: [{ a: 'S', b: 'M' }, { b: 'M' }], faults: process.env.EXHAUSTIVE ? 2 : 1 },
  'the order is deleted': { versions: [{ a: 'S' }, 'deleted'], faults: 2 },
  'the order is deleted and returns': { versions: [{ a: 'S' }, 'deleted', { a: 'S' }], faults: 1 },
  'a line is removed, and then another': {
    versions: [{ a: 'S', b: 'M', c: 'S' }, { a: 'S', b: 'M' }, { b: 'M' }],
    faults: 0,
  },
  'a change is committed after the cursor has passed its date': {
    versions: [{ a: 'S' }, { a: 'M' }],
    commitsLate: true,
    faults: 1,
  },
  'another integration has pushed the order before': { versions: [{ a: 'S', b: 'M' }], unmanaged: ['M'], faults: 2 },
} satisfies Record<string, OrderScenario>;

const orderReverts: [keyof OrderDesign, keyof typeof orderScenarios, issue: string][] = [
  ['writesAreFenced', 'a line changes', '11, 4'],
  ['sendsOnlyUnderLease', 'two sizes of one product', '11, 4'],
  ['leaseOutlastsRequests', 'two sizes of one product', '11, 4'],
  ['linksBeforeRequests', 'a line is removed', '11, 5'],
  ['looksForLostCreate', 'two sizes of one product', '11, 3'],
  ['matchesByContent', 'two sizes of one product', '11, 3'],
  ['knowsOrderBeforePost', 'the order is deleted', '11, 10'],
  ['leasesRunOut', 'two sizes of one product', '11, 17'],
  ['failedOrderIsRetried', 'two sizes of one product', '11, tests that did not bite'],
  ['rereadsStaleCopy', 'a line changes', '11, the design'],
  ['asksAboutHidden', 'another integration has pushed the order before', 'found by this model'],
  ['rereadsNewOrder', 'the order is deleted', 'found by this model'],
  ['keepsLeaseOfLostRequest', 'two sizes of one product', 'found by this model'],
  ['forgetsFingerprintOfLostPush', 'a value goes back to what it was', 'found by this model'],
  ['distrustsLinesOfLostPush', 'a value goes back to what it was', 'found by this model'],
  ['readsLookback', 'a change is committed after the cursor has passed its date', '11, the design'],
  ['removesOnlyWhatWasCounted', 'a line is removed, and then another', '11, 15'],
  ['remembersRemovals', 'a line is removed', '11, the design'],
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
  'the clock of the service is far ahead for one response': {
    kinds: ['sync'],
    existing: [0],
    isSynced: true,
    mayBeWritten: 1,
    faults: ['clock'],
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
  ['stepsBelongToOneRun', 'a backfill is interrupted and repeated', '12, 1'],
  ['continuesOnlyUnfinished', 'a backfill is repeated after a review was listed late', '12, 3'],
  ['failureDelaysNothingElse', 'one tick is refused for good', '12, 4'],
  ['failureDelaysNothingElse', 'one tick is refused for good while a review is deleted', '12, 4'],
  ['failedWindowIsOpenGap', 'the first sync', '12, 4'],
  ['suspectsWithCoverage', 'reviews are deleted or hidden', '12, 5'],
  ['keepsUnansweredSuspects', 'reviews are deleted or hidden', '12, 5'],
  ['provesBeforeEntering', 'the first sync', '12, 6 and 7'],
  ['watermarkStaysBehindOwnClock', 'the clock of the service is far ahead for one response', '12, 8'],
  ['boundsFromList', 'a backfill is interrupted and repeated', '12, 14'],
  ['asksById', 'reviews are deleted or hidden', '12, tests that did not bite'],
  ['asksBeforeMarking', 'reviews are deleted or hidden', '12, tests that did not bite'],
  ['marksWithSuspicion', 'reviews are deleted or hidden', '12, 5'],
  ['newestVersionWins', 'sync and reconcile read at once', '12, the design'],
  ['deletedRowsAreReplaced', 'a deleted review is restored in an older version', 'found beside this model'],
  ['watermarkFollowsData', 'the clock that dates reviews is behind', '12, the design'],
  ['readsOverlap', 'a review is listed late', '12, the design'],
  ['closesOnlyGapsReadSince', 'a gap has opened since a backfill was interrupted', 'found beside this model'],
  ['gapsEndWithThePresent', 'the first sync', 'found beside this model'],
  ['leavesOutJustNow', 'a review or its change is listed later than the overlap', '12, the design'],
];

const removalScenarios = {
  'lines vanish, and return without a date': {
    kinds: ['sync'],
    changes: [
      { to: 2, isDated: true },
      { to: 3, isDated: false },
    ],
    changesAtMost: 3,
    workers: 1,
    mayAllow: true,
  },
  'more lines vanish once some were counted': {
    kinds: ['sync'],
    changes: [
      { to: 2, isDated: true },
      { to: 1, isDated: true },
    ],
    changesAtMost: 2,
  },
  'an order loses line after line': {
    kinds: ['sync'],
    changes: ([2, 1, 0, 3] as const).map((to) => ({ to, isDated: true, of: 0 })),
    changesAtMost: 4,
    workers: 1,
    mayAllow: true,
  },
  'runs are lost, and pushes end in errors': {
    kinds: ['sync'],
    changes: [{ to: 2, isDated: true }],
    changesAtMost: 2,
    faults: ['lost run', 'repeated step', 'error'],
    faultsAtMost: 2,
    workers: 1,
  },
  'the service refuses an order beside another run': {
    kinds: ['sync'],
    changes: [{ to: 2, isDated: true }],
    changesAtMost: 2,
    faults: ['refused', 'lost run'],
    faultsAtMost: 2,
  },
  'a run is lost beside another': {
    kinds: ['sync'],
    changes: [{ to: 2, isDated: true }],
    changesAtMost: 2,
    faults: ['lost run'],
    faultsAtMost: 1,
  },
  'deleted orders vanish and return': {
    kinds: ['sync'],
    changes: (['deleted', 'gone', 3] as const).map((to) => ({ to, isDated: true })),
    changesAtMost: 4,
    workers: 1,
    mayAllow: true,
  },
  'orders are deleted while two runs go on': {
    kinds: ['sync'],
    changes: (['deleted', 3] as const).map((to) => ({ to, isDated: true })),
    changesAtMost: 2,
    mayAllow: true,
  },
  'orders and lines vanish, and a rescan finds it': {
    kinds: ['rescan'],
    changes: (['gone', 3, 2] as const).map((to) => ({ to, isDated: false })),
    changesAtMost: 3,
    workers: 1,
    days: 2,
    mayAllow: true,
  },
  'an order vanishes while a sync pushes it': {
    kinds: ['rescan', 'sync'],
    changes: [
      { to: 'gone', isDated: false },
      { to: 2, isDated: true },
    ],
    changesAtMost: 2,
    days: 1,
  },
} satisfies Record<string, RemovalScenario>;

const removalReverts: [keyof RemovalDesign, keyof typeof removalScenarios, issue: string][] = [
  ['countsBeforeRemoving', 'runs are lost, and pushes end in errors', '11, 15'],
  ['removesOnlyWhatWasCounted', 'more lines vanish once some were counted', '11, 15'],
  ['leavesOutPushedSince', 'more lines vanish once some were counted', 'found by this model'],
  ['heldIsNotApproved', 'a run is lost beside another', 'found by this model'],
  ['countsOnlyOwn', 'a run is lost beside another', 'the design'],
  ['remembersRemovals', 'runs are lost, and pushes end in errors', 'the design'],
  ['heldStaysHeld', 'more lines vanish once some were counted', 'the design'],
  ['holdOutlastsPush', 'more lines vanish once some were counted', 'found by this model'],
  ['refusalKeepsHold', 'the service refuses an order beside another run', '11'],
  ['errorKeepsHold', 'runs are lost, and pushes end in errors', 'found by this model'],
  ['vanishedIsNotHeld', 'deleted orders vanish and return', 'found by this model'],
  ['keepsEmptiedOrder', 'an order loses line after line', 'the design'],
  ['readsBeforeRemoving', 'runs are lost, and pushes end in errors', 'the design'],
  ['readsHeldAgain', 'deleted orders vanish and return', 'the design'],
  ['countsAbsentTogether', 'orders and lines vanish, and a rescan finds it', 'the design'],
  ['waitsADay', 'orders and lines vanish, and a rescan finds it', 'the design'],
  ['returnEndsAbsence', 'an order vanishes while a sync pushes it', 'the design'],
  ['asksShopBeforeDeleting', 'orders and lines vanish, and a rescan finds it', 'the design'],
];

const feedScenarios = {
  'two runs read at once': { kinds: ['sync'], ticks: 1, changes: 2 },
  'a change is committed late': {
    kinds: ['sync'],
    ticks: 2,
    changes: 2,
    faults: ['late commit'],
    faultsAtMost: 1,
    workers: 1,
  },
  'a change is committed late while two runs read': {
    kinds: ['sync'],
    ticks: 1,
    changes: 1,
    faults: ['late commit'],
    faultsAtMost: 1,
  },
  'runs are lost, and steps fail': {
    kinds: ['sync'],
    ticks: 1,
    changes: 2,
    faults: ['lost run', 'failed step'],
    faultsAtMost: 2,
    workers: 1,
  },
  'the first walk is interrupted': {
    kinds: ['sync'],
    isFirst: true,
    ticks: 2,
    changes: 1,
    faults: ['lost run', 'failed step'],
    faultsAtMost: 2,
    workers: 1,
  },
  'two runs share the first walk': {
    kinds: ['sync'],
    isFirst: true,
    ticks: 1,
    changes: 1,
    faults: ['lost run'],
    faultsAtMost: 1,
  },
  'the clock of the shop is set back': {
    kinds: ['sync'],
    ticks: 3,
    changes: 2,
    faults: ['clock'],
    faultsAtMost: 1,
    workers: 1,
  },
  'the clock of the shop is set back, and a run is lost': {
    kinds: ['sync'],
    ticks: 3,
    changes: 1,
    faults: ['clock', 'lost run'],
    faultsAtMost: 2,
    workers: 1,
  },
  'an order is dated ahead': {
    kinds: ['sync'],
    ticks: 3,
    changes: 2,
    faults: ['future'],
    faultsAtMost: 1,
    workers: 1,
  },
  'one order can never be pushed': { kinds: ['sync'], ticks: 1, changes: 2, failing: 0, workers: 1 },
  'changes without a date, and orders that vanish and return': {
    kinds: ['sync', 'rescan'],
    ticks: 0,
    changes: 1,
    faults: ['undated', 'gone'],
    faultsAtMost: 2,
    workers: 1,
  },
  'an order vanishes and returns beside two runs': {
    kinds: ['sync', 'rescan'],
    ticks: 0,
    changes: 1,
    faults: ['gone'],
    faultsAtMost: 1,
  },
} satisfies Record<string, FeedScenario>;

const feedReverts: [keyof FeedDesign, keyof typeof feedScenarios, issue: string][] = [
  ['readsLookback', 'a change is committed late', 'the design'],
  ['savesAfterPush', 'two runs share the first walk', 'the design'],
  ['failureHoldsCursor', 'the first walk is interrupted', 'the design'],
  ['failureDelaysNothingElse', 'one order can never be pushed', 'the design'],
  ['distrustsCursorOfFuture', 'the clock of the shop is set back', 'the design'],
  ['readToIsPlanned', 'the clock of the shop is set back', 'the design'],
  ['positionHasCode', 'two runs read at once', 'the design'],
  ['walkEndsWhereItBegan', 'the first walk is interrupted', 'the design'],
  ['readsChangesOfWalk', 'two runs share the first walk', 'the design'],
  ['rescanCompares', 'changes without a date, and orders that vanish and return', 'the design'],
  ['forgetsDeleted', 'changes without a date, and orders that vanish and return', 'the design'],
];

/** A protocol from its scenarios, and the parts of its design that are taken away in one of them. */
function protocolOf<State, Event, Scenario, Design, Name extends string>(
  name: string,
  model: (scenario: Scenario, changed?: Partial<Design>) => Model<State, Event>,
  scenarios: Record<Name, NoInfer<Scenario>>,
  reverts: readonly [part: keyof NoInfer<Design> & string, scenario: NoInfer<Name>, issue: string][],
): Protocol {
  const all = Object.entries<Scenario>(scenarios);
  return {
    name,
    probes: Object.keys(model(all[0]?.[1] as Scenario).probes),
    scenarios: all.map(([of, scenario]) => ({ name: of, run: () => explore(model(scenario)) })),
    reverts: reverts.map(([part, of, issue]) => ({
      name: `without ${part}, ${of}`,
      issue,
      run: () => explore(model(scenarios[of], { [part]: false } as Partial<Design>)),
    })),
  };
}

export const protocols: readonly Protocol[] = [
  protocolOf('one line, never twice', orderModel, orderScenarios, orderReverts),
  protocolOf('nothing destroyed unasked', removalModel, removalScenarios, removalReverts),
  protocolOf('the cursor follows the feed', feedModel, feedScenarios, feedReverts),
  protocolOf('watermark, coverage, reconcile', reviewModel, reviewScenarios, reviewReverts),
];
