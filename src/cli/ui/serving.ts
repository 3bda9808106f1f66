import { startWebhookApplier } from '../../background/apply-webhooks.ts';
import { startAlertWatcher } from '../../background/watch-alerts.ts';
import { startServer } from '../../server/index.ts';
import type { MeasuredApp } from '../../server/measured-app.ts';
import { servedAlone } from './serve-brands.ts';

/** Posts alerts and applies webhooks until closed. @param pollMs how often it looks for webhooks. */
export function startBackground({ app, reports }: MeasuredApp, pollMs?: number): { close(): Promise<void> } {
  const loops = [startAlertWatcher({ ...app, warehouse: reports.warehouse }), startWebhookApplier(app, pollMs)];
  return { close: async () => void (await Promise.all(loops.map((loop) => loop?.close()))) };
}

/** Serves webhooks, status page and metrics of one App until `opened` closes. @returns the address. */
export async function startServing(measured: MeasuredApp, opened: AsyncDisposableStack): Promise<string> {
  const background = startBackground(measured);
  opened.defer(() => background.close());
  const server = await startServer(servedAlone(measured), measured.app.config.port, { isPublic: true });
  opened.defer(() => server.close());
  return server.url;
}
