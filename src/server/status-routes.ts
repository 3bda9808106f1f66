import { createHash } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { issuesOf } from '../app/alert-rules.ts';
import { describeError, describeWithHint } from '../base/errors.ts';
import { addresses } from '../base/hints.ts';
import { hasToken, wrongTokenWarning } from './credentials.ts';
import type { MeasuredApp, Served } from './measured-app.ts';
import { script } from './page/html.ts';
import { type BrandSummary, brandsPage, statusPage, unavailablePage } from './page/page.ts';
import { style } from './page/style.ts';

const cspHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const contentSecurityPolicy =
  `default-src 'none'; style-src ${cspHash(style)}; script-src ${cspHash(script)}; connect-src 'self'; ` +
  "img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/** Keeps Bull Board from loading fonts of another host. Some of its styles are inline. */
const boardPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; " +
  "object-src 'none'";

/** Bull Board loads fonts from another host, which would learn who views this page. */
const linkElsewhere = /<link[^>]*href="https?:[^>]*>/g;

/** `GET /`: the status page. `GET /queues`: Bull Board. Both are read-only, and need the token. */
export function statusRoutes(parent: FastifyInstance, served: Served): void {
  const { statusToken: token, brandsDir } = served.deployment;
  if (token === undefined) return;
  const warnWrongToken = wrongTokenWarning(served.log, 'the status page');
  parent.register(async (server) => {
    server.addHook('onRequest', async (request, reply) => {
      if (hasToken(request, token, warnWrongToken)) return undefined;
      const text = 'The password is STATUS_TOKEN; the user may be anything.';
      return reply.status(401).header('www-authenticate', 'Basic realm="review-sync", charset="UTF-8"').send(text);
    });
    server.get<{ Querystring: { brand?: string } }>('/', { errorHandler: sendUnavailable }, async (request, reply) => {
      const all = served.all();
      const { brand } = request.query;
      const measured = brandsDir === undefined ? all[0] : all.find(({ app }) => app.config.brand === brand);
      if (measured) return send(reply, statusPage(await measured.reports.get(), measured.app.config.brand));
      return send(reply, brandsPage([...(await Promise.all(all.map(summaryOf))), ...served.notServed()]));
    });
    await server.register(async (board) => {
      board.addHook('onSend', async (_request, reply, payload) => {
        reply.header('content-security-policy', boardPolicy).header('cache-control', 'no-store');
        const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
        return isPage ? String(payload).replaceAll(linkElsewhere, '') : payload;
      });
      // Read-only: a step that a person retries would belong to a run that has ended.
      const adapter = new FastifyAdapter();
      adapter.setBasePath('/queues');
      const { setQueues } = createBullBoard({ queues: [], serverAdapter: adapter });
      // Each open run has a queue of its own.
      board.addHook('onRequest', async () => {
        const queues = new Set((await Promise.all(served.all().map(queuesOf))).flat());
        setQueues([...queues].map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })));
      });
      await board.register(adapter.registerPlugin(), { prefix: '/queues' });
    });
  });
}

async function summaryOf({ app: { config }, reports }: MeasuredApp): Promise<BrandSummary> {
  const { brand = '' } = config;
  return reports.get().then(
    (report) => ({ brand, issues: issuesOf(report).length }),
    (error: unknown) => ({ brand, error: describeError(error) }),
  );
}

async function queuesOf({ app: { queues }, reports }: MeasuredApp) {
  // If the warehouse cannot be read, there are no runs to show.
  const runs = (await reports.get().catch(() => undefined))?.inProgress ?? [];
  return [queues.scheduled, ...(await Promise.all(runs.map(({ run }) => queues.ofRun(run.id))))];
}

/** Shows the error of the warehouse: it has no customer data, and the reader has the token. */
function sendUnavailable(error: Error, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const reason = `The warehouse cannot be read: ${describeWithHint(error, addresses.warehouse)}`;
  return send(reply.status(503).header('retry-after', '15'), unavailablePage(reason));
}

function send(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', contentSecurityPolicy)
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-store')
    .send(page);
}
