import type { App } from '../../app/app.ts';
import { startWebhookApplier } from '../../background/apply-webhooks.ts';
import { startAlertWatcher } from '../../background/watch-alerts.ts';
import { startServer } from '../../server/index.ts';
import type { MeasuredApp } from '../../server/measured-app.ts';
import { servedAlone } from './serve-brands.ts';

/** Posts alerts and applies webhooks until `opened` closes. @param pollMs how often it looks for webhooks. */
export function startBackground(app: App, opened: AsyncDisposableStack, pollMs?: number): void {
  const alerts = startAlertWatcher(app);
  opened.defer(() => alerts?.close());
  const applier = startWebhookApplier(app, pollMs);
  opened.defer(() => applier.close());
}

/** Serves webhooks, status page and metrics of one App until `opened` closes. @returns the address. */
export async function startServing(measured: MeasuredApp, opened: AsyncDisposableStack): Promise<string> {
  startBackground(measured.app, opened);
  const server = await startServer(servedAlone(measured), measured.app.config.port, { isPublic: true });
  opened.defer(() => server.close());
  return server.url;
}
