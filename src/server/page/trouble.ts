import { Html, html } from './html.ts';
import { style } from './style.ts';

/** What is shown where the page cannot be: why, and what to do. It asks for itself again every quarter of a minute. */
export function troublePage(reason: string): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="refresh" content="15"><title>review-sync: not available</title><link rel="icon" href="data:,">
<style>${new Html(style)}</style></head>
<body><header><h1>review-sync</h1></header><main id="main">
<section aria-labelledby="trouble"><h2 id="trouble">How things stand cannot be read</h2>
<p>${reason}</p>
<p>Run <code>npx review-sync doctor</code>: it says what is broken and what to do. Nothing is lost meanwhile: webhooks are sent
again by the service, and the next run goes on where the last one stopped.</p></section>
</main></body></html>`.text;
}
