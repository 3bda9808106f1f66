import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { attentionOf } from '../attention.ts';
import { describeWithAdvice } from '../errors.ts';
import type { Queues } from '../queue/index.ts';
import type { StatusReport } from '../status-report.ts';
import { coverageByDay } from '../warehouse/coverage.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { lagHistory } from '../warehouse/runs.ts';
import { createBoard } from './board.ts';
import { script, statusPage } from './page/page.ts';
import { style } from './page/style.ts';
import { troublePage } from './page/trouble.ts';
import { isKnown } from './token.ts';

export type StatusOptions = {
  /** Who shows it may see and act. */
  token: string;
  timeZone: string;
  warehouse: Warehouse;
  queues: Queues;
  report(): Promise<StatusReport>;
  /** The open letters of this kind and reason: tries them again, or closes them. Says what was done. */
  act(what: 'retry' | 'discard', kind: string, reason: string): Promise<string>;
};

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;

/**
 * `GET /`: the status page. `POST /dead-letters`: its buttons. `GET /queues`: Bull Board, to look at only. All behind the
 * token: as the password of HTTP's own log-in, whatever the user, or as a bearer.
 */
export function statusRoutes(parent: FastifyInstance, options: StatusOptions): void {
  parent.register(async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      if (!isKnown(request, options.token)) return challenge(reply);
      // A browser sends the password along whoever asks: only our own page may act.
      if (request.method !== 'GET' && !isOwn(request)) return reply.status(403).send({ error: 'not from this page' });
      return undefined;
    });
    app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, new URLSearchParams(String(body))),
    );
    app.get('/', { errorHandler: showTrouble }, async (request, reply) => {
      const query = new URLSearchParams(request.url.split('?')[1]);
      return send(reply, await view(options, Number(query.get('year')), query.get('done') ?? undefined));
    });
    app.post('/dead-letters', async (request, reply) => {
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      const [what, kind, reason] = [form.get('do'), form.get('kind'), form.get('reason')];
      if ((what !== 'retry' && what !== 'discard') || kind === null || reason === null) {
        return reply.status(422).send({ error: 'expected do (retry or discard), kind and reason' });
      }
      const done = await options.act(what, kind, reason);
      // So that reloading the page does not do it again.
      return reply.redirect(`/?done=${encodeURIComponent(done)}`, 303);
    });
    await createBoard(app, options.queues, '/queues');
  });
}

function challenge(reply: FastifyReply): FastifyReply {
  const words = 'The password is STATUS_TOKEN; the user may be anything.';
  return reply.status(401).header('www-authenticate', 'Basic realm="review-sync", charset="UTF-8"').send(words);
}

function isOwn({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return headers.origin === undefined || new URL(headers.origin).host === headers.host;
}

/** The database's own words: they name no customer, and whoever reads them has shown the token. */
function showTrouble(error: Error, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return send(reply.status(503).header('retry-after', '15'), troublePage(describeWithAdvice(error)));
}

async function view(options: StatusOptions, wanted: number, notice: string | undefined): Promise<string> {
  const { warehouse, timeZone } = options;
  const report = await options.report();
  const years = [...new Set(report.coverage.map(({ month }) => Number(month.slice(0, 4))))].reverse();
  const year = years.includes(wanted) ? wanted : (years[0] ?? 0);
  const days = await coverageByDay(warehouse.db, timeZone, year);
  const lag = await lagHistory(warehouse.db, new Date(report.at.getTime() - 86_400_000));
  return statusPage({ report, attention: attentionOf(report), timeZone, years, year, days, lag, notice });
}

function send(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-store')
    .send(page);
}
