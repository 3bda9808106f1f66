import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Input } from './input.ts';

export type Paging = { limit: number; page: number };

/** `limit` and `page` with their defaults (docs/interface.md, "Limits"). */
export function readPaging(input: Input): Paging {
  return { limit: input.number('limit') ?? 30, page: input.number('page') ?? 1 };
}

/** The `Link` header: the last page, and the next if there is one. The token is not repeated in it. */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Paging & { total: number; last?: number | undefined | null; mostPages?: number },
): FastifyReply {
  const real = Math.max(1, Math.ceil(page.total / page.limit));
  const last = page.last === undefined ? real : page.last;
  const named = `${request.protocol}://${request.host}`;
  // A Host header may be absent (HTTP/1.0), or not be a host.
  const base = URL.canParse(named) ? named : `http://127.0.0.1:${request.socket.localPort}`;
  const url = new URL(request.url, base);
  const link = (number: number, rel: string) => {
    url.searchParams.delete('access_token');
    url.searchParams.set('page', String(number));
    return `<${url.href}>; rel="${rel}"`;
  };
  const links = [
    ...(last === null ? [] : [link(last, 'last')]),
    ...(page.page < Math.min(real, page.mostPages ?? real) ? [link(page.page + 1, 'next')] : []),
  ];
  return links.length === 0 ? reply : reply.header('link', links.join(', '));
}
