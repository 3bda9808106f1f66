import { html } from './html.ts';
import { layout, section } from './layout.ts';

/** Shown where there is no run of the id. It does not say the id back. */
export const missingPage = layout({
  title: 'no such run',
  main: section('missing', 'No such run', html`<p>Runs are deleted with age. <a href="/">Status</a></p>`),
});

/** Shown where the status cannot be read: the reason and the next step. Reloads itself every 15 seconds. */
export function unavailablePage(reason: string): string {
  const body = html`<p>${reason}</p>
<p>Run <code>npx review-sync doctor</code>: it says what is broken and what to do. Nothing is lost meanwhile: the service sends
webhooks again, and the next run continues where the last one stopped.</p>`;
  const main = section('unavailable', 'The status cannot be read', body);
  return layout({ title: 'not available', main, reloadSeconds: 15 });
}
