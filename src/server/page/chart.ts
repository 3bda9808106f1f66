import { type Html, html } from './html.ts';

/**
 * `values`: one per series, from the bottom up. Undefined: nothing is known of this bar, so it is no 0, and is drawn
 * grey. `isPartial`: there may be more than is known; drawn with a dashed outline.
 */
export type Bar = { label: string; values: readonly number[] | undefined; isPartial?: boolean; note?: string };

export type Chart = {
  title: string;
  /** What the chart says, in a sentence or two: its text alternative beside the table. */
  summary: string;
  /** Names of the series, from the bottom up; at most three. */
  series: readonly string[];
  /** What the legend says of a series: the sum of all bars, or the last one. */
  legend: 'sum' | 'last';
  bars: readonly Bar[];
  /** Labels of the horizontal axis by the number of their bar. */
  marks: ReadonlyMap<number, string>;
  /** Draws values for people: `1,200`, `3 min`. */
  format(value: number): string;
  /** Draws the ticks, where there is little room. */
  tickFormat(value: number): string;
};

/** The height of the bars, and of the room above and below them, in pixels. */
const [height, above, below] = [120, 8, 20];

/** At most five numbers from 0 to at least `most`, a round step apart: 1, 2 or 5 times a power of ten. */
export function ticksOf(most: number): number[] {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, most) / 4)));
  const step = [1, 2, 5].map((n) => n * power).find((one) => most / one <= 4) ?? 10 * power;
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, n) => n * step);
}

/** Where each value of a stacked bar begins and ends. */
function stack(values: readonly number[]): { from: number; to: number }[] {
  let to = 0;
  return values.map((value) => {
    const from = to;
    to += Math.max(0, value);
    return { from, to };
  });
}

const total = (values: readonly number[] = []) => values.reduce((sum, value) => sum + Math.max(0, value), 0);

/**
 * Stacked bars as inline SVG, with a legend and a table of the same figures. Widths are percentages and texts have a
 * fixed size, so that the chart fits any window without a script.
 */
export function chart(one: Chart): Html {
  const { title, summary, series, bars } = one;
  const most = Math.max(0, ...bars.map((bar) => total(bar.values)));
  const caption = html`<figcaption><h3>${title}</h3><p>${summary}</p></figcaption>`;
  // The summary says it all.
  if (most === 0) return html`<figure class="chart">${caption}</figure>`;
  const ticks = ticksOf(most);
  const top = ticks.at(-1) ?? 1;
  const y = (value: number) => round(above + height - (value / top) * height);
  return html`<figure class="chart">${caption}
    ${series.length > 1 && legend(one)}
    <div class="plot"><svg class="ticks" height="${above + height + below}" aria-hidden="true">${ticks.map(
      (tick) => html`<text x="100%" y="${y(tick)}" dy=".32em">${one.tickFormat(tick)}</text>`,
    )}</svg><svg class="bars" height="${above + height + below}" role="img" aria-label="${title}. ${summary}">${ticks.map(
      (tick) => html`<line x2="100%" y1="${y(tick)}" y2="${y(tick)}"/>`,
    )}${bars.map((bar, n) => drawBar(one, bar, n, y))}${[...one.marks].map(([n, text]) =>
      mark(text, round(((n + 0.5) / bars.length) * 100)),
    )}</svg></div>
    ${figures(one)}</figure>`;
}

function drawBar({ bars, series, format }: Chart, bar: Bar, n: number, y: (value: number) => number): Html {
  const slot = 100 / bars.length;
  const [x, width] = [round(n * slot + slot * 0.1), round(slot * 0.8)];
  const isUnknown = bar.values === undefined;
  // Neighbours of which nothing is known touch each other.
  const back = { name: isUnknown ? 'unknown' : bar.isPartial ? 'partial' : 'free', x: isUnknown ? round(n * slot) : x };
  const text = [`${bar.label}: ${barText(bar, series, format)}`, bar.note].filter(Boolean).join('; ');
  return html`<g><title>${text}</title><rect class="${back.name}" x="${back.x}%" y="${above}" width="${isUnknown ? round(slot) : width}%" height="${height}"/>${stack(
    bar.values ?? [],
  ).map(({ from, to }, level) => {
    if (to <= from) return html``;
    // A single record among millions is seen, and does not leave the chart at the top.
    const size = Math.max(1.5, y(from) - y(to));
    return html`<rect class="c${level}" x="${x}%" y="${round(y(from) - size)}" width="${width}%" height="${round(size)}"/>`;
  })}</g>`;
}

function mark(text: string, at: number): Html {
  const anchor = at < 8 ? 'start' : at > 92 ? 'end' : 'middle';
  const x = at < 8 ? 0 : at > 92 ? 100 : at;
  return html`<text x="${x}%" y="${above + height + below - 4}" text-anchor="${anchor}">${text}</text>`;
}

function legend({ series, bars, format, legend: says }: Chart): Html {
  const shown = says === 'sum' ? bars : bars.slice(-1);
  return html`<ul class="legend">${series.map(
    (name, level) =>
      html`<li><svg class="key" width="12" height="12" aria-hidden="true"><rect class="c${level}" width="12" height="12"/></svg>
        ${name} ${format(shown.reduce((sum, bar) => sum + (bar.values?.[level] ?? 0), 0))}</li>`,
  )}</ul>`;
}

function figures({ title, series, bars, format }: Chart): Html {
  const row = (bar: Bar) =>
    html`<tr><th scope="row">${bar.label}</th>${series.map(
      (_, level) => html`<td>${bar.values ? format(bar.values[level] ?? 0) : 'not known'}</td>`,
    )}<td>${bar.note}</td></tr>`;
  return html`<details><summary>Figures<span class="sr"> of ${title}</span></summary>
    <div class="scroll" role="region" tabindex="0" aria-label="Table: ${title}"><table><caption class="sr">${title}</caption>
    <thead><tr><th scope="col">When</th>${series.map((name) => html`<th scope="col">${name}</th>`)}<th scope="col">Note</th></tr></thead>
    <tbody>${bars.map(row)}</tbody></table></div></details>`;
}

function barText({ values }: Bar, series: readonly string[], format: Chart['format']): string {
  if (!values) return 'not known';
  return series.map((name, level) => `${name} ${format(values[level] ?? 0)}`).join(', ');
}

const round = (n: number) => Math.round(n * 100) / 100;
