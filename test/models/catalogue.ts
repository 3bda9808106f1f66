/** What is explored of each protocol, and the defects that are put back. Used by the test and by `npm run models`. */
import { type Explored, explore } from './check.ts';
import { type OrderDesign, type OrderScenario, orderModel } from './orders.ts';
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

export const protocols: readonly Protocol[] = [
  {
    name: 'one line, never twice',
    probes: Object.keys(orderModel(orderScenarios['two sizes of one product']).probes),
    scenarios: Object.entries(orderScenarios).map(([name, scenario]) => ({
      name,
      run: () => explore(orderModel(scenario)),
    })),
    reverts: orderReverts.map(([part, scenario, issue]) => ({
      name: `without ${part}, ${scenario}`,
      issue,
      run: () => explore(orderModel(orderScenarios[scenario], { [part]: false })),
    })),
  },
  {
    name: 'watermark, coverage, reconcile',
    probes: Object.keys(reviewModel(reviewScenarios['the first sync']).probes),
    scenarios: Object.entries(reviewScenarios).map(([name, scenario]) => ({
      name,
      run: () => explore(reviewModel(scenario)),
    })),
    reverts: reviewReverts.map(([part, scenario, issue]) => ({
      name: `without ${part}, ${scenario}`,
      issue,
      run: () => explore(reviewModel(reviewScenarios[scenario], { [part]: false })),
    })),
  },
];
