import { applyWebhooks } from '../../jobs/apply-webhooks.ts';
import { retryLetters } from '../../jobs/retry-letters.ts';
import { alertsOf } from '../../jobs/watch-alerts.ts';
import type { App } from '../app.ts';
import type { Metrics } from '../metrics.ts';
import { startServer } from '../server/index.ts';
import type { StatusOptions } from '../server/status-routes.ts';
import { statusReport } from '../status-report.ts';
import { discardDeadLetters, findDeadLetters } from '../warehouse/dead-letters.ts';
import type { DeadLetterKind } from '../warehouse/schema.ts';
import { acceptWebhook } from '../webhooks/accept-webhook.ts';
import type { Applying } from '../webhooks/keep-applying.ts';

/** Receives webhooks, applies them, shows the page and the metrics, until `opened` closes. @returns its address. */
export async function startServing(app: App, metrics: Metrics, opened: AsyncDisposableStack): Promise<string> {
  const { config, log, warehouse } = app;
  const alerts = alertsOf(app);
  opened.defer(() => alerts?.close());
  const applying = applyWebhooks(app);
  opened.defer(() => closeWithin(applying, app.abort));
  const { secret, ...webhooks } = config.webhooks;
  const { statusToken: token } = config;
  const accepting = {
    accept: (body: string) => acceptWebhook(warehouse.db, body),
    onAccepted: applying.wake,
    onRefused: (status: number) => log.warn({ status }, 'a webhook was refused'),
  };
  const server = await startServer({
    ...{ host: config.host, port: config.port, trustedProxies: config.trustedProxies, warehouse, log },
    webhooks: secret === undefined ? undefined : { ...webhooks, secret, ...accepting },
    metrics: { token, ...metrics },
    status: token === undefined ? undefined : statusOf(app, token),
  });
  opened.defer(() => server.close());
  return server.url;
}

function statusOf(app: App, token: string): StatusOptions {
  const { warehouse, queues } = app;
  return {
    ...{ token, warehouse, queues, timeZone: app.config.api.timeZone },
    report: () => statusReport(app),
    async act(what, kind, reason) {
      const letters = await findDeadLetters(warehouse.db, { kind: kind as DeadLetterKind, reason });
      if (what === 'discard') {
        return `${await discardDeadLetters(
          warehouse.db,
          letters.map((letter) => letter.id),
        )} were discarded.`;
      }
      const runs: string[] = [];
      await retryLetters(app, letters, async (job) => {
        runs.push(job.name);
        await queues.enqueue(job, {});
      });
      if (runs.length > 0) return `${runs.join(' and ')} will try ${letters.length} again as soon as a worker is free.`;
      return `${letters.length} were tried again.`;
    },
  };
}

/** What is not done by then waits in the inbox. */
async function closeWithin(applying: Applying, abort: AbortController, graceMs = 10_000): Promise<void> {
  const timer = setTimeout(() => abort.abort(), graceMs);
  await applying.close();
  clearTimeout(timer);
}
