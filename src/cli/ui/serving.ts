import { startWebhookApplier } from '../../background/apply-webhooks.ts';
import { startAlertWatcher } from '../../background/watch-alerts.ts';
import { type RunningServer, startServer } from '../../server/index.ts';
import type { MeasuredApp } from '../../server/measured-app.ts';

/** Serves webhooks, status page and metrics until `opened` closes. @returns the address. */
export async function startServing(measured: MeasuredApp, opened: AsyncDisposableStack): Promise<string> {
  const { app } = measured;
  const alerts = startAlertWatcher(app);
  opened.defer(() => alerts?.close());
  const applier = startWebhookApplier(app);
  let server: RunningServer | undefined;
  opened.defer(async () => void (await Promise.all([applier.close(), server?.close()])));
  server = await startServer(measured, app.config.port, { isPublic: true });
  return server.url;
}
