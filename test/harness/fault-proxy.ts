import { createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `before`: the n-th call never arrives; `after`: it is done and answered; `lost`: it is done, its answer lost. */
export type FaultMode = 'before' | 'after' | 'lost';

export type FaultProxy = {
  url: string;
  /** Calls so far, the token's left out. */
  calls(): number;
  /** The addresses they asked for, without the host. */
  asked(): readonly string[];
  /** When each of all calls came, in milliseconds, the token's left out. */
  cameAtMs: readonly number[];
  /** Strikes at the n-th call from now on; `then` is told at that moment. */
  strike(n: number, mode: FaultMode, then?: () => void): void;
  /** From now on the service answers this status to each call whose address it holds for; the token's is left out. */
  refuse(isRefused: (path: string) => boolean, status: number): void;
  /** From now on one call at a time is passed on, and just before the n-th of them `change` happens. */
  changeBefore(n: number, change: () => Promise<unknown>): void;
  close(): Promise<void>;
};

/** Stands between client and service, counts the calls and breaks one of them. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let asked: string[] = [];
  const cameAtMs: number[] = [];
  let plan: { n: number; mode: FaultMode; then: (() => void) | undefined } | undefined;
  let refusal: { isRefused: (path: string) => boolean; status: number } | undefined;
  let shift: { n: number; change: () => Promise<unknown> } | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const server = createServer((incoming, outgoing) => {
    const isToken = incoming.url === '/oauth/token';
    if (!isToken) {
      asked.push(incoming.url ?? '');
      cameAtMs.push(performance.now());
    }
    const number = isToken ? undefined : asked.length;
    const fault = plan?.n === number ? plan : undefined;
    if (refusal && !isToken && refusal.isRefused(incoming.url ?? '')) {
      outgoing.writeHead(refusal.status, { 'content-type': 'application/json' }).end('{"error":"refused"}');
      return;
    }
    if (fault?.mode === 'before') {
      fault.then?.();
      incoming.socket.destroy();
      return;
    }
    const change = shift?.n === number ? shift?.change : undefined;
    const answered = shift
      ? turn.then(() => change?.()).then(() => passOn(target, incoming))
      : passOn(target, incoming);
    turn = answered.catch(() => {});
    answered.then(
      ({ answer, body }) => {
        if (fault?.mode === 'lost') {
          fault.then?.();
          incoming.socket.destroy();
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(body, () => fault?.then?.());
      },
      () => incoming.socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => asked.length,
    asked: () => asked,
    cameAtMs,
    strike(n, mode, then) {
      asked = [];
      plan = { n, mode, then };
    },
    refuse(isRefused, status) {
      refusal = { isRefused, status };
    },
    changeBefore(n, change) {
      asked = [];
      shift = { n, change };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function passOn(target: string, incoming: IncomingMessage): Promise<{ answer: IncomingMessage; body: Buffer }> {
  const { method, headers, url } = incoming;
  return new Promise((resolve, reject) => {
    const onward = send(`${target}${url}`, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ answer, body: Buffer.concat(chunks) }));
    });
    onward.on('error', reject);
    incoming.pipe(onward);
  });
}
