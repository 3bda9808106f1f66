import { once } from 'node:events';
import { startServer } from '../../server/index.ts';
import type { Context, Define, Traits } from '../command.ts';
import { serveBrands, startBackground } from '../serve-brands.ts';

export const traits: Traits = { hasServers: true };

export const define: Define = (commander, run) => {
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
};

async function listen(context: Context): Promise<undefined> {
  const log = await context.log();
  await using opened = new AsyncDisposableStack();
  const served = await serveBrands(context, log, opened, async (measured, own, { pollMs }) => {
    const background = startBackground(measured, pollMs);
    own.defer(() => background.close());
  });
  const { port, statusToken, webhookSecret } = served.deployment;
  const server = await startServer(served, port, { isPublic: true });
  opened.defer(() => server.close());
  log.info({ url: server.url }, 'listening');
  if (statusToken === undefined) log.warn('STATUS_TOKEN is not set: there is no status page');
  if (webhookSecret === undefined) log.warn('WEBHOOK_SECRET is not set: no webhook is accepted');
  if (!context.signal.aborted) await once(context.signal, 'abort');
  log.info('stopping: finishing requests and webhooks');
}
