import { connect } from 'node:net';
import { ReviewSyncError } from '../../base/errors.ts';
import { withTimeout } from '../../base/timeout.ts';

/** A person waits for `doctor`. */
const reachTimeoutMs = 8000;
const probeMs = 2000;

/**
 * Waits for a call at most 8 seconds.
 *
 * @param url the address that the call uses.
 * @throws ReviewSyncError on a timeout, which says whether anything accepts connections at the address.
 */
export function withTimeoutDiagnosis<T>(call: Promise<T>, url: string): Promise<T> {
  return withTimeout(call, reachTimeoutMs, async () => {
    const within = `within ${reachTimeoutMs / 1000} seconds`;
    if (await acceptsConnections(url)) {
      return new ReviewSyncError('no-response', `it accepts the connection, but does not respond ${within}`, {
        hint: 'check whether it is overloaded or hangs, and restart it; or another program has the port in its address',
      });
    }
    return new ReviewSyncError('no-response', `no connection ${within}`, {
      hint: 'check whether the server is up, open the firewall, or correct host and port in its address',
    });
  });
}

/**
 * Does `work` and closes what was opened for it: within two seconds, as a server that does not respond cannot be closed
 * properly.
 */
export async function withClosing<Opened extends { close(): Promise<unknown> }, T>(
  opened: Opened,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await withTimeout(opened.close(), probeMs, () => new Error('not closed in time')).catch(() => {});
  }
}

const usualPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'redis:': 6379,
  'rediss:': 6379,
  'mysql:': 3306,
  'mariadb:': 3306,
};

function acceptsConnections(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (usualPorts[protocol] ?? 5432),
      timeout: probeMs,
    });
    const end = (accepts: boolean) => {
      socket.destroy();
      resolve(accepts);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
