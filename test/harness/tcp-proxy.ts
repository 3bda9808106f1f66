import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Passes bytes on to a port of 127.0.0.1 and counts what the client sends; tells at the n-th time, before passing it.
 */
export async function startTcpProxy(port: number): Promise<{
  port: number;
  /** New connections go to this port. */
  passTo(port: number): void;
  sent(): number;
  at(n: number, then: () => void): void;
  close(): Promise<void>;
}> {
  let target = port;
  let sent = 0;
  let plan: { n: number; then: () => void } | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      sent += 1;
      if (plan?.n === sent) plan.then();
      else upstream.write(chunk);
    });
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    passTo(to) {
      target = to;
    },
    sent: () => sent,
    at(n, then) {
      sent = 0;
      plan = { n, then };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
