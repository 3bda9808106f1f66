import type { StatusTable } from '../../app/status-view.ts';
import { style } from './style.ts';

/** A piece of HTML that is safe to send. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | null | false | readonly Part[];

/** Template tag that escapes every value, except for Html. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, index) => text + (index < parts.length ? htmlText(parts[index]) : '')).join(''));
}

function htmlText(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(htmlText).join('');
  if (part === undefined || part === null || part === false) return '';
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Updates the page every 15 seconds, unless a control has the focus: the page must not change under the user. */
export const script = `
setInterval(async () => {
  const main = document.querySelector('main');
  if (document.hidden || main.contains(document.activeElement) || main.querySelector('details[open]')) return;
  const response = await fetch(location.href).catch(() => undefined);
  if (!response || !response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  document.title = page.title;
  main.replaceWith(page.querySelector('main'));
}, 15000);
`;

/** A whole page. It works without scripts, and updates itself if they are allowed. */
export function layout(title: string, main: Html): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>review-sync: ${title}</title>
<link rel="icon" href="data:,"><style>${new Html(style)}</style></head>
<body><a class="skip" href="#main">To the content</a><header><h1><a href="/">review-sync</a></h1></header>
<main id="main">
${main}
</main><script>${new Html(script)}</script></body></html>`.text;
}

export const section = (id: string, title: string, body: Html): Html =>
  html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${body}</section>`;

type Rows = readonly (readonly (Html | string)[])[];

/** A table that scrolls by itself, also by keyboard, if it is wider than the window. */
export function statusTable({ title, head, rows, unknown }: Omit<StatusTable, 'rows'> & { rows: Rows }): Html {
  if (rows.length === 0) return html`<p>${unknown === undefined ? 'None' : `It is ${unknown}`}.</p>`;
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Table: ${title}"><table>
    <caption class="sr">${title}</caption>
    <thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}
