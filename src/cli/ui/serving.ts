import { syncCatalog } from '../../../jobs/sync-catalog.ts';
import { syncOrders } from '../../../jobs/sync-orders.ts';
import { startWebhookApplier } from '../../background/apply-webhooks.ts';
import { retryDeadLetters } from '../../background/retry-dead-letters.ts';
import { startAlertWatcher } from '../../background/watch-alerts.ts';
import { startServer } from '../../server/index.ts';
import type { MeasuredApp } from '../../server/measured-app.ts';
import { readCursor } from '../../warehouse/runs/cursors.ts';

const graceMs = 10_000;

/** Serves webhooks, status page and metrics until `opened` closes. @returns the address. */
export async function startServing(measured: MeasuredApp, opened: AsyncDisposableStack): Promise<string> {
  const { app } = measured;
  const alerts = startAlertWatcher(app);
  opened.defer(() => alerts?.close());
  const applier = startWebhookApplier(app);
  opened.defer(async () => {
    // Reviews that are not read by then stay in sync.changed_reviews.
    const timer = setTimeout(() => app.abort.abort(), graceMs);
    await applier.close();
    clearTimeout(timer);
  });
  const server = await startServer(measured, app.config.port, {
    async retry(deadLetters) {
      const { isCatalog, codes } = await retryDeadLetters(app, deadLetters);
      if (isCatalog) await app.queues.enqueue(syncCatalog, {});
      // The first sync sends the contact of every young order: a person starts it, and pushes these with it.
      const hasSynced = (await readCursor(app.warehouse.db, 'orders')) !== undefined;
      if (codes.length > 0 && hasSynced) await app.queues.enqueue(syncOrders, {});
      if (isCatalog || (codes.length > 0 && hasSynced)) return 'queued';
      return codes.length > 0 ? 'due' : 'retried';
    },
  });
  opened.defer(() => server.close());
  return server.url;
}
