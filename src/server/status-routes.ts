import { createHash } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { describeWithHint } from '../base/errors.ts';
import { alike, type DeadLetter, discardDeadLetters, openDeadLetters } from '../warehouse/dead-letters.ts';
import type { DeadLetterKind } from '../warehouse/schema.ts';
import { hasCredentials, hasToken } from './credentials.ts';
import { openExplainer } from './explain.ts';
import type { MeasuredApp } from './measured-app.ts';
import { explainPage } from './page/explain-page.ts';
import { type Search, script } from './page/layout.ts';
import { statusPage, unavailablePage } from './page/page.ts';
import { missingPage, runPage } from './page/run-page.ts';
import { style } from './page/style.ts';
import type { TokenThrottle } from './token-throttle.ts';
import { openViews } from './views.ts';

export type PageActions = {
  /** Retries dead letters. `queued`: a worker does it. `due`: the first `sync orders` does it, which a person starts. */
  retry(deadLetters: readonly DeadLetter[]): Promise<'retried' | 'queued' | 'due'>;
};

const notices: Readonly<Record<'discarded' | 'retried' | 'queued' | 'due', (count: number) => string>> = {
  discarded: (count) => `${count} were discarded.`,
  retried: (count) => `${count} were retried.`,
  queued: (count) => `A worker will retry ${count} as soon as it is free.`,
  due: (count) => `${count} will be retried by the first sync of orders.`,
};

/** The notice that the address names. The text is ours: an address cannot bring its own. */
function noticeOf(query: URLSearchParams): string | undefined {
  const sentence = Object.entries(notices).find(([done]) => done === query.get('done'))?.[1];
  const count = query.get('count') ?? '';
  return sentence && /^\d{1,9}$/.test(count) ? sentence(Number(count)) : undefined;
}

const cspHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const contentSecurityPolicy =
  `default-src 'none'; style-src ${cspHash(style)}; script-src ${cspHash(script)}; connect-src 'self'; ` +
  "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** Keeps Bull Board from loading fonts of another host. Some of its styles are inline. */
const boardPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; " +
  "object-src 'none'";

/**
 * `GET /`: the status page. `GET /runs/:id`: one run. `GET /explain`: the search. `POST /dead-letters`: buttons of the
 * page. `GET /queues`: Bull Board, read-only. All need the token: as a bearer token, or as the password of HTTP Basic
 * with any user.
 */
export function statusRoutes(
  parent: FastifyInstance,
  measured: MeasuredApp,
  { retry }: PageActions,
  throttle: TokenThrottle,
): void {
  const { app, reports } = measured;
  const { statusToken: token } = app.config;
  if (token === undefined) return;
  const views = openViews(measured);
  const explain = openExplainer(app, reports.warehouse);
  parent.register(async (server) => {
    server.addHook('onRequest', async (request, reply) => {
      if (!hasToken(request, token)) {
        if (hasCredentials(request) && !(await throttle.wrongToken('the status page'))) return reply.status(429).send();
        return challenge(reply);
      }
      // A browser sends the password with requests of foreign pages too. Only our own page may change something.
      if (request.method !== 'GET' && !isSameOrigin(request))
        return reply.status(403).send({ error: 'not from this page' });
      return undefined;
    });
    server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, new URLSearchParams(String(body))),
    );
    server.get('/', { errorHandler: sendUnavailable }, async (request, reply) => {
      const query = queryOf(request);
      return send(reply, statusPage(await views.status(Number(query.get('year'))), noticeOf(query)));
    });
    server.get<{ Params: { id: string } }>('/runs/:id', { errorHandler: sendUnavailable }, async (request, reply) => {
      const view = await views.run(request.params.id);
      return view ? send(reply, runPage(view)) : send(reply.status(404), missingPage);
    });
    server.get('/explain', { errorHandler: sendUnavailable }, async (request, reply) => {
      const query = queryOf(request);
      const key = (query.get('key') ?? '').trim().slice(0, 300);
      const search: Search = { of: query.get('of') === 'review' ? 'review' : 'order', key };
      // A foreign page or a link in a mail can send a browser here with its password. It must not start searches, nor
      // measure what they take: the page shows the key, and a person presses the button.
      if (key === '' || !isOfThisPage(request)) return send(reply, explainPage(search, undefined));
      const answer = await explain(search);
      if (answer.kind === 'busy') reply.status(429).header('retry-after', String(answer.seconds));
      if (answer.kind === 'invalid') reply.status(422);
      if (answer.kind === 'failed') reply.status(503);
      return send(reply, explainPage(search, answer));
    });
    server.post('/dead-letters', async (request, reply) => {
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      const [what, kind, reason] = [form.get('do'), form.get('kind'), form.get('reason')];
      if ((what !== 'retry' && what !== 'discard') || kind === null || reason === null) {
        return reply.status(422).send({ error: 'expected do (retry or discard), kind and reason' });
      }
      const { db } = app.warehouse;
      const found = alike(await openDeadLetters(db, kind as DeadLetterKind), reason);
      const discard = async () => {
        const ids = found.map(({ id }) => id);
        return { done: 'discarded', count: await discardDeadLetters(db, ids) };
      };
      const again = async () => ({ done: await retry(found), count: found.length });
      const { done, count } = await (what === 'discard' ? discard() : again()).finally(() => {
        reports.forget();
        views.forget();
      });
      // A redirect, so that reloading the page does not repeat the action.
      return reply.redirect(`/?done=${done}&count=${count}`, 303);
    });
    await server.register(async (board) => {
      board.addHook('onSend', async (_request, reply) => void reply.header('content-security-policy', boardPolicy));
      // Read-only: a step that is retried by hand would belong to a run that has ended.
      const adapter = new FastifyAdapter();
      adapter.setBasePath('/queues');
      createBullBoard({
        queues: Object.values(app.queues.bull).map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
        serverAdapter: adapter,
      });
      await board.register(adapter.registerPlugin(), { prefix: '/queues' });
    });
  });
}

function challenge(reply: FastifyReply): FastifyReply {
  const text = 'The password is STATUS_TOKEN; the user may be anything.';
  return reply.status(401).header('www-authenticate', 'Basic realm="review-sync", charset="UTF-8"').send(text);
}

const queryOf = ({ url }: FastifyRequest) => new URLSearchParams(url.split('?')[1]);

/**
 * Whether our own page sent the request, or a program that holds the token: no page can make a browser send a bearer
 * token. A browser without `Sec-Fetch-Site` names the page in `Referer`.
 */
function isOfThisPage({ headers }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, authorization = '', referer = '', host } = headers;
  if (site !== undefined) return site === 'same-origin';
  return /^bearer /i.test(authorization) || (URL.canParse(referer) && new URL(referer).host === host);
}

function isSameOrigin({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  // A page that hides its origin sends `null`, as one in a sandbox does.
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === headers.host);
}

/** Shows the error of the database: it names no customer, and the reader has the token. */
function sendUnavailable(error: Error, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return send(reply.status(503).header('retry-after', '15'), unavailablePage(describeWithHint(error)));
}

function send(reply: FastifyReply, page: string): FastifyReply {
  return (
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', contentSecurityPolicy)
      // Not no-referrer: on plain http, browsers would then send `Origin: null` with the form.
      .header('referrer-policy', 'same-origin')
      .header('cache-control', 'no-store')
      .send(page)
  );
}
