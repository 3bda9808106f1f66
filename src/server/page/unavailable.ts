import { Html, html } from './html.ts';
import { style } from './style.ts';

/** Shown where the status cannot be read: the reason and the next step. Reloads itself every 15 seconds. */
export function unavailablePage(reason: string): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="refresh" content="15"><title>review-sync: not available</title><link rel="icon" href="data:,">
<style>${new Html(style)}</style></head>
<body><header><h1>review-sync</h1></header><main id="main">
<section aria-labelledby="unavailable"><h2 id="unavailable">The status cannot be read</h2>
<p>${reason}</p>
<p>Run <code>npx review-sync doctor</code>: it says what is broken and what to do. Nothing is lost meanwhile: the service sends
webhooks again, and the next run continues where the last one stopped.</p></section>
</main></body></html>`.text;
}
