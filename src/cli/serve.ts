import { once } from 'node:events';
import type { Command, Context } from './command.ts';
import { openMeasuredApp } from './measured-app.ts';
import { startServing } from './serving.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'the webhook receiver, the status page, /metrics, /healthz and /readyz',
  define(commander, run) {
    commander
      .addHelpText(
        'after',
        `
Listens on HOST and PORT. With WEBHOOK_SECRET it accepts webhooks at POST /webhooks/<WEBHOOK_SECRET>, keeps each in the
warehouse before it answers, and reads again what changed within seconds. Any number of processes may serve; what one
leaves behind, another serve or a worker applies. With STATUS_TOKEN there is a status page at /, and /metrics asks for it.
SIGTERM ends it cleanly.`,
      )
      .action(() => run(listen));
  },
};

async function listen(context: Context): Promise<undefined> {
  const config = context.config();
  const log = context.log();
  await using opened = new AsyncDisposableStack();
  const { app, metrics } = await openMeasuredApp(config, log, opened);
  const url = await startServing(app, metrics, opened);
  log.info({ url }, 'listening');
  const { secret } = config.webhooks;
  if (config.statusToken === undefined) log.warn('STATUS_TOKEN is not set: there is no status page');
  if (secret === undefined) log.warn('WEBHOOK_SECRET is not set: no webhook is accepted');
  else if (secret.length < 16) log.warn('WEBHOOK_SECRET is short: strangers could guess it');
  if (!context.signal.aborted) await once(context.signal, 'abort');
  log.info('stopping: finishing what is in hand');
  return undefined;
}
