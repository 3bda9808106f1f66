import { openApp } from '../app.ts';
import { type Attention, attentionOf } from '../attention.ts';
import { durationText } from '../duration.ts';
import { type StatusReport, statusReport } from '../status-report.ts';
import { partText } from '../warehouse/run-parts.ts';
import type { Command } from './command.ts';
import { table } from './table.ts';

export const status: Command = {
  name: 'status',
  summary: 'watermarks, lag, coverage by month, queue depth, last runs, dead letters',
  define(commander, run) {
    commander.option('--json', 'report as JSON').action(() =>
      run(async (context) => {
        const app = await openApp(context.config(), { log: context.log('error') });
        try {
          const report = await statusReport(app);
          const attention = attentionOf(report);
          return { json: { ...report, attention }, text: draw(report, attention) };
        } finally {
          await app.close();
        }
      }),
    );
  },
};

function draw(report: StatusReport, attention: readonly Attention[]): string {
  const { jobs } = report.queue;
  const sections = [
    drawAttention(attention),
    table(
      ['flow', 'read up to', 'behind'],
      report.flows.map(({ flow, watermark, lagSeconds }) => [
        flow,
        watermark ?? 'nothing yet',
        lagSeconds === null ? '' : durationText(lagSeconds),
      ]),
    ),
    section(
      'coverage by month',
      ['month', 'days read', 'reviews'],
      briefly(report.coverage).map(({ month, days, readDays, reviews }) => [
        month,
        `${readDays}/${days}${readDays < days ? '  ← not all read' : ''}`,
        reviews.toLocaleString('en'),
      ]),
    ),
    section(
      `queue (${report.queue.kind})`,
      ['jobs', 'active', 'waiting', 'held by steps', 'delayed', 'failed'],
      Object.entries(jobs).map(([name, n]) => [
        name,
        ...[n.active, (n.waiting ?? 0) + (n.prioritized ?? 0), n['waiting-children'], n.delayed, n.failed].map((one) =>
          String(one ?? 0),
        ),
      ]),
    ),
    section(
      'last runs',
      ['run', 'started', 'took', 'rate', 'outcome', 'by', 'brought'],
      report.runs
        .slice(0, 10)
        .map((one) => [
          one.job,
          one.startedAt.toISOString().slice(0, 19),
          one.finishedAt ? durationText(secondsOf(one) ?? 0) : '',
          rate(one),
          one.outcome ?? 'going on',
          by(one),
          one.error ?? counts(one.counts),
        ]),
    ),
    ...shared(report.runs.slice(0, 10)),
    section(
      'dead letters',
      ['kind', 'records', 'reason'],
      report.deadLetters.map((group) => [group.kind, String(group.count), group.reason]),
    ),
    section(
      'late reviews, 30 days',
      ['found by', 'reviews', 'latest'],
      report.late.map((one) => [
        one.job === 'reconcile-reviews' ? `${one.job}  ← missed by the overlap of the incremental runs` : one.job,
        one.reviews.toLocaleString('en'),
        durationText(one.longestSeconds),
      ]),
    ),
    ...(report.suspectedGone > 0
      ? [`${report.suspectedGone} reviews were not found by a reconcile, and wait to be asked about by the next`]
      : []),
    ...webhooks(report.webhooks),
    section(
      'next runs',
      ['run', 'at', 'pattern', 'zone'],
      report.scheduled.map((one) => [one.job, one.next?.toISOString() ?? '', one.pattern, one.timeZone]),
    ),
  ];
  return sections.join('\n\n');
}

/** Nothing, where none ever came. */
function webhooks({ waiting, oldestAt, lastReceivedAt, lastError }: StatusReport['webhooks']): string[] {
  if (!lastReceivedAt) return [];
  const last = `webhooks: the last came ${lastReceivedAt.toISOString().slice(0, 19)}`;
  if (waiting === 0) return [`${last}, all are applied`];
  const since = oldestAt?.toISOString().slice(0, 19) ?? '';
  return [`${last}, ${waiting} wait since ${since}${lastError ? `: ${lastError}` : ''}`];
}

function drawAttention(attention: readonly Attention[]): string {
  if (attention.length === 0) return 'All is well.';
  return ['Needs attention:', ...attention.map(({ what, mend }) => `  ${what}\n    → ${mend}`)].join('\n');
}

/** The last twelve months and all with holes; years before that in a line each. */
function briefly(coverage: StatusReport['coverage']): StatusReport['coverage'] {
  const recent = new Set(coverage.slice(-12));
  const rows: StatusReport['coverage'] = [];
  for (const month of coverage) {
    const year = month.month.slice(0, 4);
    const last = rows.at(-1);
    if (recent.has(month) || month.readDays < month.days) rows.push(month);
    else if (last?.month === year) {
      for (const count of ['days', 'readDays', 'reviews'] as const) last[count] += month[count];
    } else rows.push({ ...month, month: year });
  }
  return rows;
}

type Run = StatusReport['runs'][number];

const secondsOf = ({ startedAt, finishedAt }: Run) =>
  finishedAt ? (finishedAt.getTime() - startedAt.getTime()) / 1000 : undefined;

/** Reviews or orders per second of a run that ended. */
function rate(run: Run): string {
  const seconds = secondsOf(run);
  const [kind, n = 0] = Object.entries(run.counts).find(([name]) => ['reviews', 'orders'].includes(name)) ?? [];
  return kind && n > 0 && seconds ? `${Math.round(n / seconds).toLocaleString('en')} ${kind}/s` : '';
}

/** The process that did the run, or how many shared it. */
const by = ({ parts }: Run) => (parts.length > 1 ? `${parts.length} processes` : (parts[0]?.worker ?? ''));

/** What each process did of the runs that several shared; nothing where none was. */
function shared(runs: readonly Run[]): string[] {
  const rows = runs
    .filter(({ parts }) => parts.length > 1)
    .flatMap(({ job, startedAt, parts }) =>
      parts.map((part) => [
        job,
        ...[startedAt, part.lastAt].map((at) => at.toISOString().slice(0, 19)),
        part.worker,
        partText(part),
      ]),
    );
  return rows.length === 0
    ? []
    : [section('shared runs', ['run', 'started', 'last step ended', 'process', 'part'], rows)];
}

function section(title: string, head: string[], rows: string[][]): string {
  return rows.length === 0 ? `${title}: none` : `${title}\n${table(head, rows)}`;
}

const counts = (all: Record<string, number>) =>
  Object.entries(all)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${n} ${kind.replaceAll('_', ' ')}`)
    .join(', ');
