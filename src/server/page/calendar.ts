import type { StatusReport } from '../../app/status-report.ts';
import { counted, formatCount } from '../../base/counts.ts';
import type { DayCoverage } from '../../warehouse/reviews/coverage.ts';
import { type Html, html } from './html.ts';

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
const monthName = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });
/** Shades of a day with reviews, from few to many. */
const shades = 4;

/**
 * A cell per day of the last twelve months, shaded by its number of reviews. A day that was not read completely, or that
 * no run has read yet, has a dashed outline and says so.
 */
export function calendar({ coverageDays: days }: StatusReport): Html {
  if (days.length === 0) return html`<p>No run has read the dates of the service’s first and last review yet.</p>`;
  const holes = days.filter((day) => day.isHole).length;
  const most = Math.max(...days.map((day) => day.reviews));
  const byMonth = Map.groupBy(days, (day) => day.day.slice(0, 7));
  return html`<p>The last twelve months: ${holes === 0 ? 'every day before the last run was read completely' : `${counted(holes, 'day was', 'days were')} not read completely`}.
    Dashed: not read completely, or not yet. Darker: more reviews, up to ${formatCount(most)}.</p>
    <div class="months">${[...byMonth].map(([month, ofMonth]) => monthTable(month, ofMonth, most))}</div>`;
}

function monthTable(month: string, days: readonly DayCoverage[], most: number): Html {
  const byDay = new Map(days.map((day) => [day.day, day]));
  const first = new Date(`${month}-01T00:00:00Z`);
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const offset = (first.getUTCDay() + 6) % 7;
  const cells = Array.from({ length: Math.ceil((offset + length) / 7) * 7 }, (_, index) => {
    const date = index - offset + 1;
    if (date < 1 || date > length) return html`<td></td>`;
    const day = byDay.get(`${month}-${String(date).padStart(2, '0')}`);
    return day ? dayCell(date, day, most) : html`<td class="outside">${date}</td>`;
  });
  const weeks = Array.from({ length: cells.length / 7 }, (_, week) => cells.slice(week * 7, week * 7 + 7));
  return html`<table class="month"><caption>${monthName.format(first)} ${month.slice(0, 4)}</caption>
    <thead><tr>${weekdays.map((name) => html`<th scope="col"><abbr title="${name}">${name.slice(0, 1)}</abbr></th>`)}</tr></thead>
    <tbody>${weeks.map((week) => html`<tr>${week}</tr>`)}</tbody></table>`;
}

function dayCell(date: number, { reviews, isRead, isHole }: DayCoverage, most: number): Html {
  const shade = reviews === 0 ? 0 : Math.max(1, Math.ceil((reviews / most) * shades));
  const text = `${counted(reviews, 'review')}${isRead ? '' : `, not read ${isHole ? 'completely' : 'to its end yet'}`}`;
  return html`<td class="day s${shade}${isRead ? '' : ' hole'}" title="${text}">${date}<span class="sr">: ${text}</span></td>`;
}
