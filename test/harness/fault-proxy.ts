import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `before`: the n-th call never arrives; `after`: it is done and answered; `lost`: it is done, its answer lost. */
export type FaultMode = 'before' | 'after' | 'lost';

export type FaultProxy = {
  url: string;
  /** Calls so far, the token's left out. */
  calls(): number;
  /** Strikes at the n-th call from now on; `then` is told at that moment. */
  strike(n: number, mode: FaultMode, then?: () => void): void;
  close(): Promise<void>;
};

/** Stands between client and service, counts the calls and breaks one of them. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let calls = 0;
  let plan: { n: number; mode: FaultMode; then: (() => void) | undefined } | undefined;
  const server = createServer((incoming, outgoing) => {
    const isToken = incoming.url === '/oauth/token';
    if (!isToken) calls += 1;
    const fault = !isToken && plan?.n === calls ? plan : undefined;
    if (fault?.mode === 'before') {
      fault.then?.();
      incoming.socket.destroy();
      return;
    }
    const { method, headers, url } = incoming;
    const onward = send(`${target}${url}`, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        if (fault?.mode === 'lost') {
          fault.then?.();
          incoming.socket.destroy();
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(chunks), () => fault?.then?.());
      });
    });
    onward.on('error', () => incoming.socket.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    strike(n, mode, then) {
      calls = 0;
      plan = { n, mode, then };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
