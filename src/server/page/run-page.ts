import { formatCount, utc } from '../../app/status-view.ts';
import { durationText } from '../../base/time/duration.ts';
import type { WaitKind } from '../../base/waits.ts';
import type { DeadLettersOfRun, RunWindow, RunWindows } from '../../warehouse/runs/run-facts.ts';
import type { Run } from '../../warehouse/runs/runs.ts';
import { type Html, html } from './html.ts';
import { layout, section } from './layout.ts';
import { progressText } from './runs-in-progress.ts';
import { facts, statusTable } from './sections.ts';
import type { RunInProgress } from './view.ts';

/** Everything that the page of a run shows. */
export type RunView = {
  run: Run;
  at: Date;
  /** Undefined where the run has ended. */
  progress: RunInProgress | undefined;
  windows: { sums: RunWindows; first: readonly RunWindow[] };
  deadLetters: readonly DeadLettersOfRun[];
};

/** The page of one run. */
export function runPage(view: RunView): string {
  const { run, at } = view;
  const end = run.finishedAt ?? at;
  const seconds = (end.getTime() - run.startedAt.getTime()) / 1000;
  const about: (readonly [string, Html | string])[] = [
    ['Outcome', html`<span class="outcome ${run.outcome ?? 'running'}">${run.outcome ?? 'running'}</span>`],
    ['Started by', run.trigger === 'schedule' ? 'its schedule' : 'a command'],
    ['Started', utc(run.startedAt)],
    ['Ended', run.finishedAt ? utc(run.finishedAt) : 'not yet'],
    ['Took', durationText(seconds)],
    ...(run.key === null ? [] : [['About', run.key] as const]),
    ['Id', html`<code>${run.id}</code>`],
  ];
  const main = html`<p><a href="/">All runs</a></p><h2>${run.job}</h2>
${run.error !== null && html`<p class="reason failed">${run.error}</p>`}
${facts(about)}
${view.progress && section('progress', 'In progress', html`<p>${progressText(view.progress, at)}</p>`)}
${section('counts', 'Counts', counts(run))}
${section('windows', 'Windows and requests', windows(view))}
${section('waits', 'Waits', waits(view, seconds))}
${section('dead-letters', 'Dead letters', deadLetters(view))}
<p class="soft">As of ${utc(at)}. All times are in UTC.</p>`;
  return layout({
    title: `${run.job}, ${utc(run.startedAt)}`,
    main,
    search: { of: 'order', key: '' },
    isLive: !run.finishedAt,
  });
}

function counts({ counts: all, finishedAt }: Run): Html {
  const rows = Object.entries(all).map(([kind, n]) => [kind.replaceAll('_', ' '), formatCount(n)] as const);
  if (rows.length === 0)
    return html`<p>${finishedAt ? 'None were recorded.' : 'They are recorded when the run ends.'}</p>`;
  return facts(rows);
}

function windows({ run, windows: { sums, first } }: RunView): Html {
  const { requests } = run.counts;
  const sent = requests !== undefined && html`<p>The steps sent ${formatCount(requests)} requests in all.</p>`;
  if (sums.count === 0) {
    const none = run.counts.spans
      ? 'Its windows were joined with their neighbours, which reconcile does with age.'
      : 'It has read no window of reviews.';
    return html`${sent}<p>${none}</p>`;
  }
  const rows = first.map((one) => [
    one.axis,
    utc(one.startAt),
    utc(one.endAt),
    formatCount(one.pages),
    formatCount(one.reviews),
    formatCount(one.requests),
    durationText(one.seconds),
  ]);
  const rest =
    sums.count > first.length && html`<p>The first ${first.length} of ${formatCount(sums.count)} are shown.</p>`;
  return html`${sent}<p>${formatCount(sums.count)} windows were read completely: ${formatCount(sums.reviews)} reviews on ${formatCount(sums.pages)} pages, in ${formatCount(sums.requests)} requests.</p>
    ${statusTable({ title: 'Windows', head: ['Date', 'From', 'To', 'Pages', 'Reviews', 'Requests', 'Took'], rows })}${rest}`;
}

function waits({ run, windows: { sums } }: RunView, seconds: number): Html {
  const waiting = run.counts.lines_waiting;
  const idle = sums.readingSeconds === null ? undefined : Math.max(0, seconds - sums.readingSeconds);
  return html`${idle !== undefined && html`<p>For ${durationText(idle)} of ${durationText(seconds)} no window was being read: the run was planned, waited in the queue, or read what could not be proven.</p>`}
    ${waiting !== undefined && html`<p>${formatCount(waiting)} order lines waited for a product id when it ended.</p>`}
    ${waitsText(run)}`;
}

const waitReasons: Readonly<Record<WaitKind, string>> = {
  ceiling: 'for the ceiling of requests per second (REVIEW_API_REQUESTS_PER_SECOND)',
  retry_after: 'because the service asked for fewer requests (429, Retry-After)',
  outage: 'before another attempt, because the service failed or could not be reached',
  lease: 'for another process that had the lease of a record',
};

function waitsText({ waits: all, finishedAt }: Run): Html {
  const log = html`The worker’s log has each wait, with this id as <code>run</code>.`;
  if (all === null) return html`<p>An earlier version recorded this run, without what it waited for. ${log}</p>`;
  const rows = (Object.keys(waitReasons) as WaitKind[]).flatMap((kind) => {
    const seconds = all[kind] ?? 0;
    return seconds > 0 ? [[durationText(seconds), waitReasons[kind]]] : [];
  });
  if (rows.length === 0) {
    return html`<p>${finishedAt ? 'It' : 'What has ended of it'} waited neither for the service nor for another process.</p>`;
  }
  return html`${statusTable({ title: 'Waits', head: ['Waited', 'For what'], rows })}
    <p>A time in which several requests of one process waited counts once. ${finishedAt === null && 'What goes on is added when its step ends.'} ${log}</p>`;
}

function deadLetters({ deadLetters: found }: RunView): Html {
  const rows = found.map((one) => [
    one.kind,
    formatCount(one.count),
    formatCount(one.open),
    html`<span class="text">${one.reason}</span>`,
  ]);
  return html`<p>Those of its kinds that failed first or last while it ran; another run may have been at work at the same time.</p>
    ${statusTable({ title: 'Dead letters', head: ['Kind', 'Records', 'Still open', 'Reason'], rows })}`;
}
