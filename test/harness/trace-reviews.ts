import { expectExplained } from '../models/explain.ts';
import { judgeReview, type RecordedEvent, type ReviewRecording } from '../models/review-trace.ts';
import type { Axis, Kind, OfAxis } from '../models/reviews.ts';
import { queryAgain } from './database.ts';
import { type Logged, type LoggedRequest, openTrace, type RowChange, transactionsOf } from './trace.ts';

export type ReviewTrace = AsyncDisposable & {
  /** Where a client under observation finds the service. */
  url: string;
  /** Forgets what was recorded, and begins with what is there now. */
  begin(): Promise<void>;
  /** Call it after each change of the service's reviews. At most one change of a review is judged. */
  serviceChanged(): Promise<void>;
  /**
   * Fails where the review model does not explain what was done about some review. @returns events that were judged.
   */
  judge(): Promise<number>;
};

type Urls = { warehouse: string; serviceDatabase: string; service: string };
type ReviewDates = { id: number; created_at: string; updated_at: string };
type Span = { axis: Axis; start_at: string; end_at: string };
type Window = Span & { started_at: string; run_id: string };
type Cursor = { flow: string; position: { at: string } };
type Begin = {
  service: ReviewDates[];
  rows: { id: number; updated_at: string }[];
  gaps: Span[];
  cursor: Cursor['position'] | undefined;
  atMs: number;
};

const tables = {
  'warehouse.reviews': ['id', 'updated_at', 'deleted_at'],
  'sync.absent_reviews': ['review_id'],
  'sync.export_windows': ['axis', 'start_at', 'end_at', 'started_at', 'run_id'],
  'sync.open_gaps': ['axis', 'start_at', 'end_at'],
  'sync.cursors': ['flow', 'position'],
};
/** Of the commands' default and of the tests. */
const overlapMs = 3_600_000;
/** What was written so shortly before a reading began does not count as covered. */
const justNowMs = 60_000;

/**
 * Records what is done about reviews from now on.
 *
 * @param kinds the runs that will be at work; syncs and backfills unless given.
 */
export async function recordReviewTrace(urls: Urls, kinds?: readonly Kind[]): Promise<ReviewTrace> {
  const idsOnly = (request: LoggedRequest) => ({ ...request, body: datesOf(request.body) });
  const trace = await openTrace({ warehouseUrl: urls.warehouse, serviceUrl: urls.service }, tables, idsOnly);
  let atBegin = await snapshot(urls);
  return {
    url: trace.url,
    async begin() {
      await trace.clear();
      atBegin = await snapshot(urls);
    },
    serviceChanged: async () => trace.note('service', await reviewsAtService(urls)),
    async judge() {
      let judged = 0;
      const runs = await queryAgain<{ id: string; job: string }>(urls.warehouse, 'select id, job from sync.runs');
      const jobs = new Map(runs.map(({ id, job }) => [id, kindOf(job)]));
      for (const [id, recording] of recordingsOf(atBegin, await trace.logged(), jobs))
        judged += judgeOnce(id, { ...recording, ...(kinds && { kinds }) });
      return judged;
    },
    [Symbol.asyncDispose]: () => trace[Symbol.asyncDispose](),
  };
}

/** Most reviews have the same recording as one before. */
const explained = new Set<string>();

function judgeOnce(id: number, recording: ReviewRecording): number {
  const key = JSON.stringify(recording);
  if (!explained.has(key)) expectExplained(judgeReview(recording), `review ${id}`, recording.events);
  explained.add(key);
  return recording.events.length;
}

const kindOf = (job: string): Kind =>
  job === 'reconcile-reviews' ? 'reconcile' : job === 'sync-reviews' ? 'sync' : 'backfill';

const datesOf = (body: unknown): ReviewDates[] =>
  Array.isArray(body) ? body.map(({ id, created_at, updated_at }) => ({ id, created_at, updated_at })) : [];

const reviewsAtService = ({ serviceDatabase }: Urls): Promise<ReviewDates[]> =>
  queryAgain(serviceDatabase, 'select id::integer, created_at, updated_at from reference_service.reviews');

async function snapshot(urls: Urls): Promise<Begin> {
  const [service, rows, gaps, cursors] = await Promise.all([
    reviewsAtService(urls),
    queryAgain<Begin['rows'][number]>(urls.warehouse, 'select id::integer, updated_at from warehouse.reviews'),
    queryAgain<Span>(urls.warehouse, 'select axis, start_at, end_at from sync.open_gaps'),
    queryAgain<Cursor>(urls.warehouse, `select flow, position from sync.cursors where flow = 'reviews'`),
  ]);
  return { service, rows, gaps, cursor: cursors[0]?.position, atMs: Date.now() };
}

const msOf = (date: string | Date): number => new Date(date).getTime();

type Followed = {
  dates: number[];
  /** The version that lists show now. */
  listedMs: number | undefined;
  /** The ticks of each axis in which lists show the review. */
  relevant: OfAxis;
  recording: Omit<ReviewRecording, 'events'>;
  events: RecordedEvent[];
  gaps: OfAxis;
  cursor: number | null;
  isSuspect: boolean;
};

/** What the log holds of each review, in the words of the model: its dates are numbered. */
function recordingsOf(
  begin: Begin,
  log: readonly Logged[],
  jobs: ReadonlyMap<string, Kind>,
): Map<number, ReviewRecording> {
  const followed = new Map<number, Followed>();
  const openGaps = new Map(begin.gaps.map((gap) => [JSON.stringify(gap), gap]));
  const later = log.filter(({ kind }) => kind === 'service').flatMap(({ data }) => data as ReviewDates[]);
  const newest = new Map([...begin.service, ...later].map((review) => [Number(review.id), review]));
  const listed = new Map(begin.service.map((review) => [Number(review.id), review]));
  const held = new Map(begin.rows.map((row) => [Number(row.id), row]));
  for (const [id, review] of newest) followed.set(id, follow(review, listed.get(id), held.get(id), begin, openGaps));

  for (const committed of transactionsOf(log)) {
    const [first] = committed;
    if (first?.kind === 'request') {
      addListed(first.data as LoggedRequest, followed);
      addAsked(first.data as LoggedRequest, followed);
      continue;
    }
    if (first?.kind === 'service') {
      const there = new Set((first.data as ReviewDates[]).map(({ id }) => Number(id)));
      for (const [id, one] of followed) {
        if (there.has(id) || one.listedMs === undefined) continue;
        one.listedMs = undefined;
        one.events.push({ kind: 'service', version: null });
      }
      for (const { id, updated_at } of first.data as ReviewDates[]) {
        const one = followed.get(Number(id));
        if (!one || one.listedMs === msOf(updated_at)) continue;
        one.listedMs = msOf(updated_at);
        one.events.push({ kind: 'service', version: one.dates.indexOf(msOf(updated_at)) });
      }
      continue;
    }
    const changed = new Set<Followed>();
    for (const { kind, data } of committed) {
      if (kind !== 'warehouse.reviews') continue;
      const { old, new: now } = data as RowChange<{ id: number; updated_at: string; deleted_at: string | null }>;
      const one = now && followed.get(Number(now.id));
      if (!one) continue;
      changed.add(one);
      const isMarked = now.deleted_at !== null && (old?.deleted_at ?? null) === null;
      if (isMarked) one.events.push({ kind: 'marked' });
      else one.events.push({ kind: 'landed', version: one.dates.indexOf(msOf(now.updated_at)) });
    }
    const suspicions = new Map<Followed, 'suspected' | 'cleared'>();
    for (const { kind, data } of committed) {
      if (kind !== 'sync.absent_reviews') continue;
      const { old, new: now } = data as RowChange<{ review_id: number }>;
      const one = followed.get(Number((now ?? old)?.review_id));
      // With the row itself it is one event.
      if (!one || changed.has(one)) continue;
      one.isSuspect = now !== null;
      suspicions.set(one, now === null ? 'cleared' : 'suspected');
    }
    for (const one of changed) one.isSuspect = false;
    addState(committed, followed, openGaps, { jobs, suspicions });
    for (const [one, kind] of suspicions) one.events.push({ kind });
  }
  return new Map([...followed].map(([id, { recording, events }]) => [id, { ...recording, events }]));
}

function follow(
  review: ReviewDates,
  listed: ReviewDates | undefined,
  row: { updated_at: string } | undefined,
  begin: Begin,
  openGaps: ReadonlyMap<string, Span>,
): Followed {
  const createdMs = msOf(review.created_at);
  const newestMs = msOf(review.updated_at);
  const listedMs = listed && msOf(listed.updated_at);
  const rowMs = row && msOf(row.updated_at);
  const all = [createdMs, newestMs, listedMs, rowMs].filter((ms) => ms !== undefined);
  const dates = [...new Set(all)].sort((a, b) => a - b);
  const bitOf = (ms: number | undefined) => (ms === undefined ? 0 : 1 << dates.indexOf(ms));
  const relevant = { created: bitOf(createdMs), updated: bitOf(newestMs) | bitOf(listedMs) };
  const gaps = gapsOf({ dates, relevant }, openGaps);
  const cursor = begin.cursor === undefined ? null : readFrom({ dates }, begin.cursor);
  const now = dates.filter((ms) => ms < begin.atMs - justNowMs).length;
  return {
    dates,
    listedMs,
    relevant,
    recording: {
      ticks: dates.length,
      created: dates.indexOf(createdMs),
      listed: listedMs === undefined ? null : dates.indexOf(listedMs),
      version: dates.indexOf(newestMs),
      begin: { row: rowMs === undefined ? null : dates.indexOf(rowMs), cursor, gaps, now },
    },
    events: [],
    gaps,
    cursor,
    isSuspect: false,
  };
}

/** A page that shows reviews. */
function addListed({ path, query, status, body }: LoggedRequest, followed: ReadonlyMap<number, Followed>): void {
  // What plans a run looks at one review.
  if (path !== '/v1/reviews' || status !== 200 || query.limit === '1') return;
  const axis = query.date_updated_at ? 'updated' : 'created';
  for (const { id, updated_at } of body as ReviewDates[]) {
    const one = followed.get(Number(id));
    if (one) one.events.push({ kind: 'listed', axis, version: one.dates.indexOf(msOf(updated_at)) });
  }
}

/** A review that was asked for by its id. */
function addAsked({ method, path, status }: LoggedRequest, followed: ReadonlyMap<number, Followed>): void {
  const [, id] = /^\/v1\/reviews\/(\d+)$/.exec(path) ?? [];
  const one = method === 'GET' && id !== undefined ? followed.get(Number(id)) : undefined;
  if (one && (status === 200 || status === 404)) one.events.push({ kind: 'asked', isFound: status === 200 });
}

/** Coverage, gaps and the cursor concern all reviews. */
function addState(
  committed: readonly Logged[],
  followed: ReadonlyMap<number, Followed>,
  openGaps: Map<string, Span>,
  { jobs, suspicions }: { jobs: ReadonlyMap<string, Kind>; suspicions: Map<Followed, 'suspected' | 'cleared'> },
): void {
  const windows: Window[] = [];
  let cursor: Cursor['position'] | undefined;
  let haveGapsChanged = false;
  for (const { kind, data } of committed) {
    const { old, new: now } = data as RowChange<never>;
    if (kind === 'sync.export_windows' && now) windows.push(now);
    if (kind === 'sync.cursors' && (now as Cursor | null)?.flow === 'reviews')
      cursor = (now as unknown as Cursor).position;
    if (kind !== 'sync.open_gaps') continue;
    haveGapsChanged = true;
    if (old) openGaps.delete(JSON.stringify(spanOf(old)));
    if (now) openGaps.set(JSON.stringify(spanOf(now)), now);
  }
  if (windows.length === 0 && !cursor && !haveGapsChanged) return;
  for (const one of followed.values()) {
    const [window] = windows;
    const covers = window ? ticksIn(one, windows) & one.relevant[window.axis] : 0;
    const gaps = haveGapsChanged ? gapsOf(one, openGaps) : one.gaps;
    if (window && covers !== 0) {
      const past = one.dates.filter((ms) => ms < msOf(window.started_at) - justNowMs).length;
      const { axis, run_id: runId } = window;
      one.events.push({ kind: 'entered', axis, covers, past, by: jobs.get(runId), isSuspect: one.isSuspect });
      if (suspicions.get(one) === 'suspected') suspicions.delete(one);
    } else if (JSON.stringify(gaps) !== JSON.stringify(one.gaps)) one.events.push({ kind: 'gaps', gaps });
    one.gaps = gaps;
    const at = cursor === undefined ? one.cursor : readFrom(one, cursor);
    if (at !== null && at !== one.cursor) one.events.push({ kind: 'cursor', at });
    one.cursor = at;
  }
}

const spanOf = ({ axis, start_at, end_at }: Span): Span => ({ axis, start_at, end_at });

/** A span is in whole seconds, and a review of its last one belongs to it. */
const ticksIn = ({ dates }: Pick<Followed, 'dates'>, spans: readonly Span[]): number =>
  dates.reduce((ticks, ms, tick) => {
    const isIn = spans.some(({ start_at, end_at }) => ms >= msOf(start_at) && ms < msOf(end_at));
    return isIn ? ticks | (1 << tick) : ticks;
  }, 0);

function gapsOf(one: Pick<Followed, 'dates' | 'relevant'>, openGaps: ReadonlyMap<string, Span>): OfAxis {
  const of = (axis: Axis) =>
    ticksIn(
      one,
      [...openGaps.values()].filter((gap) => gap.axis === axis),
    ) & one.relevant[axis];
  return { created: of('created'), updated: of('updated') };
}

/** The first date that a run reads from this watermark on. */
const readFrom = ({ dates }: Pick<Followed, 'dates'>, { at }: Cursor['position']): number =>
  dates.filter((ms) => ms < msOf(at) - overlapMs).length;
