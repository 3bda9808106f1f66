import { once } from 'node:events';
import { openMeasuredApp } from '../../server/measured-app.ts';
import type { Command, Context } from '../command.ts';
import { startServing } from '../ui/serving.ts';

export const command: Command = {
  isSilent: true,
  define(commander, run) {
    commander
      .addHelpText(
        'after',
        `
Listens on HOST and PORT. With WEBHOOK_SECRET it accepts webhooks at POST /webhooks/<WEBHOOK_SECRET>, stores each in
the warehouse before it responds, and reads the changed reviews within seconds. Any number of processes may serve; another
serve or a worker applies what one leaves. With STATUS_TOKEN there is a status page at /, and /metrics requires the token.
SIGTERM ends it cleanly.`,
      )
      .action(() => run(listen));
  },
};

async function listen(context: Context): Promise<undefined> {
  const config = context.config();
  const log = await context.log();
  await using opened = new AsyncDisposableStack();
  const url = await startServing(await openMeasuredApp(config, log, opened), opened);
  log.info({ url }, 'listening');
  const { secret } = config.webhooks;
  if (config.statusToken === undefined) log.warn('STATUS_TOKEN is not set: there is no status page');
  if (secret === undefined) log.warn('WEBHOOK_SECRET is not set: no webhook is accepted');
  if (!context.signal.aborted) await once(context.signal, 'abort');
  log.info('stopping: finishing requests and webhooks');
  return undefined;
}
