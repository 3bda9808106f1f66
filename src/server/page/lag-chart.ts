import { utc } from '../../app/status-view.ts';
import { durationText } from '../../base/time/duration.ts';
import type { LagPoint } from '../../warehouse/runs.ts';
import { Html, html } from './html.ts';
import type { View } from './view.ts';

const width = 600;
const height = 120;

/** A chart per flow: its lag at the end of each run that went well. */
export function lagChart({ lag, report }: View): Html {
  const jobs = [...new Set(lag.map((point) => point.job))].sort();
  if (jobs.length === 0) return html`<p>There are fewer than two completed runs of each flow in the last day.</p>`;
  return html`<div class="charts">${jobs.map((job) =>
    chart(
      job,
      lag.filter((point) => point.job === job),
      report.at,
    ),
  )}</div>`;
}

function chart(job: string, points: readonly LagPoint[], now: Date): Html {
  const most = Math.max(...points.map((point) => point.seconds));
  const [first] = points;
  const start = first ? first.at.getTime() : 0;
  const x = (at: Date) => ((at.getTime() - start) / Math.max(1, now.getTime() - start)) * width;
  const y = (seconds: number) => height - (seconds / Math.max(1, most)) * height;
  const line = points.map((point) => `${x(point.at).toFixed(1)},${y(point.seconds).toFixed(1)}`).join(' ');
  const text = `${job}: lag at most ${durationText(most)}, last ${durationText(points.at(-1)?.seconds ?? 0)}`;
  return html`<figure>
    <svg viewBox="-4 -4 ${width + 8} ${height + 8}" role="img" aria-label="${text}" preserveAspectRatio="none">
      <line class="axis" x1="0" y1="${height}" x2="${width}" y2="${height}"/>
      <polyline points="${new Html(line)}"/></svg>
    <figcaption>${text}, since ${first ? utc(first.at) : ''} UTC</figcaption></figure>`;
}
