import { openApp } from '../app.ts';
import { type StatusReport, statusReport } from '../status-report.ts';
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
          return { json: report, text: draw(report) };
        } finally {
          await app.close();
        }
      }),
    );
  },
};

function draw(report: StatusReport): string {
  const { jobs } = report.queue;
  const sections = [
    table(
      ['flow', 'read up to', 'behind'],
      report.flows.map(({ flow, watermark, lagSeconds }) => [flow, watermark ?? 'nothing yet', duration(lagSeconds)]),
    ),
    section(
      'coverage by month',
      ['month', 'days read', 'reviews'],
      report.coverage.map(({ month, days, readDays, reviews }) => [
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
      ['run', 'started', 'took', 'outcome', 'brought'],
      report.runs.map((one) => [
        one.job,
        one.startedAt.toISOString().slice(0, 19),
        one.finishedAt ? duration((one.finishedAt.getTime() - one.startedAt.getTime()) / 1000) : '',
        one.outcome ?? 'going on',
        one.error ?? counts(one.counts),
      ]),
    ),
    section(
      'dead letters',
      ['kind', 'records', 'reason'],
      report.deadLetters.map((group) => [group.kind, String(group.count), group.reason]),
    ),
    section(
      'next runs',
      ['run', 'at', 'pattern', 'zone'],
      report.scheduled.map((one) => [one.job, one.next?.toISOString() ?? '', one.pattern, one.timeZone]),
    ),
  ];
  return sections.join('\n\n');
}

function section(title: string, head: string[], rows: string[][]): string {
  return rows.length === 0 ? `${title}: none` : `${title}\n${table(head, rows)}`;
}

const counts = (all: Record<string, number>) =>
  Object.entries(all)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${n} ${kind.replaceAll('_', ' ')}`)
    .join(', ');

/** The two largest units: `3 d 4 h`, `12 min 5 s`. */
function duration(seconds: number | null): string {
  if (seconds === null) return '';
  const whole = Math.max(0, Math.round(seconds));
  const units = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ] as const;
  const parts: string[] = [];
  let rest = whole;
  for (const [size, unit] of units) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0) parts.push(`${n} ${unit}`);
  }
  return parts.slice(0, 2).join(' ') || '0 s';
}
