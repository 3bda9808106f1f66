import { counted, formatCount } from '../../base/counts.ts';
import { durationText } from '../../base/time/duration.ts';
import type { DayCoverage } from '../../warehouse/reviews/coverage.ts';
import type { DeadLetterDay, LagSpan, OrderDay, ReviewDay } from '../../warehouse/runs/history.ts';
import { type Bar, type Chart, chart } from './chart.ts';
import { type Html, html } from './html.ts';

/** What the charts show. Days are those of the service's zone. */
export type History = {
  at: Date;
  reviews: readonly ReviewDay[];
  orders: readonly OrderDay[];
  deadLetters: readonly DeadLetterDay[];
  /** Which of the days were read completely. Days after the last known review are left out. */
  coverage: readonly DayCoverage[];
  lag: { from: Date; spans: readonly LagSpan[] };
};

/** A bar of the lag is the largest one within this time. */
export const lagSpanSeconds = 4 * 3600;
/** A week. */
export const lagSpanCount = 42;

const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' });
const daysText = (n: number) => counted(n, 'day');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const dayName = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const dayLabel = (day: string | Date) => dayName.format(new Date(day));

const ofCounts = { format: formatCount, tickFormat: (n: number) => compact.format(n) };

/** Every seventh day, the last one included. */
const weekly = (days: readonly { day: string }[]) =>
  new Map(days.flatMap(({ day }, n) => ((days.length - 1 - n) % 7 === 0 ? [[n, dayLabel(day)] as const] : [])));

export const dailyCharts = (history: History): Html =>
  html`<div class="charts">${chart(reviewsChart(history))}${chart(ordersChart(history))}</div>`;

export function reviewsChart({ reviews, coverage }: History): Chart {
  const holes = new Set(coverage.filter(({ isRead }) => !isRead).map(({ day }) => day));
  const bars = reviews.map(
    ({ day, stored, refused }): Bar => ({
      label: day,
      values: [stored, refused],
      ...(holes.has(day) && { isPartial: true, note: 'not read completely' }),
    }),
  );
  const sum = (name: 'stored' | 'refused') => reviews.reduce((all, one) => all + one[name], 0);
  const open = bars.filter((bar) => bar.isPartial).length;
  return {
    title: 'Reviews by the day they were written',
    summary:
      `${daysText(reviews.length)}: ${formatCount(sum('stored'))} in the warehouse, ${formatCount(sum('refused'))} could not be stored.` +
      (open === 0 ? '' : ` Not read completely: ${daysText(open)} (dashed).`),
    series: ['Stored', 'Not stored'],
    legend: 'sum',
    bars,
    marks: weekly(reviews),
    ...ofCounts,
  };
}

export function ordersChart({ orders }: History): Chart {
  const sum = (name: 'pushed' | 'deleted' | 'failed' | 'unchanged') => orders.reduce((all, one) => all + one[name], 0);
  const idle = orders.filter(({ runs }) => runs === 0).length;
  return {
    title: 'Orders by the day of the run',
    summary:
      `${daysText(orders.length)}: ${formatCount(sum('pushed'))} pushed, ${formatCount(sum('deleted'))} deleted, ${formatCount(sum('failed'))} failed; ${formatCount(sum('unchanged'))} read again without a change (not drawn).` +
      (idle === 0 ? '' : ` No run: ${daysText(idle)} (grey).`),
    series: ['Pushed', 'Deleted', 'Failed'],
    legend: 'sum',
    bars: orders.map(({ day, runs, pushed, deleted, failed, unchanged }) =>
      runs === 0
        ? { label: day, values: undefined, note: 'no run ended' }
        : { label: day, values: [pushed, deleted, failed], note: `${formatCount(unchanged)} unchanged` },
    ),
    marks: weekly(orders),
    ...ofCounts,
  };
}

/** Each series stands for some kinds of dead letters. */
const kindsOf = {
  'Orders and lines': ['order', 'order_line'],
  Reviews: ['review'],
  Others: ['category', 'user_grade', 'webhook'],
} as const satisfies Record<string, readonly DeadLetterDay['kind'][]>;

export function deadLetterChart({ deadLetters, reviews: days }: History): Chart {
  const byDay = Map.groupBy(deadLetters, ({ day }) => day);
  const bars = days.map(({ day }): Bar => {
    const open = byDay.get(day) ?? [];
    const of = (kinds: readonly string[]) =>
      open.filter(({ kind }) => kinds.includes(kind)).reduce((sum, one) => sum + one.open, 0);
    return { label: day, values: Object.values(kindsOf).map(of) };
  });
  const totals = bars.map(({ values = [] }) => values.reduce((sum, value) => sum + value, 0));
  return {
    title: 'Open dead letters at the end of each day',
    summary: `${formatCount(totals.at(-1) ?? 0)} now, at most ${formatCount(Math.max(0, ...totals))} in ${daysText(days.length)}.`,
    series: Object.keys(kindsOf),
    legend: 'last',
    bars,
    marks: weekly(days),
    ...ofCounts,
  };
}

export const lagCharts = (history: History): Html =>
  html`<div class="charts">${(['orders', 'reviews'] as const).map((flow) => chart(lagChart(flow, history)))}</div>`;

export function lagChart(flow: 'orders' | 'reviews', { lag, at }: History): Chart {
  const spans = lag.spans.filter(({ job }) => job === `sync-${flow}`);
  const worst = worstLag(spans, lag.from, at);
  const starts = worst.map((_, n) => new Date(lag.from.getTime() + n * lagSpanSeconds * 1000));
  const known = worst.filter((seconds) => seconds !== undefined);
  const most = durationText(Math.max(0, ...known));
  return {
    title: `Lag of ${flow}`,
    summary:
      known.length === 0
        ? `Not known: no run of sync-${flow} has completed yet.`
        : `At most ${most} in the last week. Each bar is the largest lag of four hours; grey: not known.`,
    series: ['Largest lag'],
    legend: 'last',
    bars: starts.map((start, n) => {
      const seconds = worst[n];
      const label = `${start.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
      return { label, values: seconds === undefined ? undefined : [seconds / 60] };
    }),
    marks: new Map(
      starts.flatMap((start, n) => (start.getUTCHours() === 0 ? [[n, weekday.format(start)] as const] : [])),
    ),
    // Of minutes.
    format: (minutes) => durationText(minutes * 60),
    tickFormat: (minutes) => (minutes === 0 ? '0' : durationText(minutes * 60)),
  };
}

/**
 * The largest lag of each span in seconds. Lag grows with the time: where no run ends, it is largest at the end of the
 * span, or now. Undefined before the first run that is known.
 */
export function worstLag(spans: readonly LagSpan[], from: Date, now: Date): (number | undefined)[] {
  const byNumber = new Map(spans.map((span) => [span.number, span]));
  let readUpTo = spans.find(({ number }) => number < 0)?.lastStartedAt;
  return Array.from({ length: lagSpanCount }, (_, number) => {
    const span = byNumber.get(number);
    if (span && !(readUpTo && readUpTo > span.lastStartedAt)) readUpTo = span.lastStartedAt;
    if (!readUpTo) return undefined;
    const end = Math.min(now.getTime(), from.getTime() + (number + 1) * lagSpanSeconds * 1000);
    return Math.max(span?.worstSeconds ?? 0, (end - readUpTo.getTime()) / 1000);
  });
}

/** In place of charts that could not be read. */
export const unknownCharts = (reason: string): Html =>
  html`<p>The history could not be read, so nothing is known of it: ${reason}. The page tries again.</p>`;
