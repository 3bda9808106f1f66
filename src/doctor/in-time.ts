import { connect } from 'node:net';
import { ReviewSyncError } from '../errors.ts';

/** How long an answer is waited for: somebody looks on. */
const patienceMs = 8000;
const probeMs = 2000;

/**
 * @param url where it is asked.
 * @throws ReviewSyncError when there is no answer in time; it tells whether anybody takes connections there.
 */
export async function inTime<T>(asked: Promise<T>, url: string): Promise<T> {
  const late = Symbol('late');
  const first = await Promise.race([asked, after(patienceMs, late)]);
  if (first !== late) return first as T;
  const within = `within ${patienceMs / 1000} seconds`;
  if (await takesConnections(url)) {
    throw new ReviewSyncError('no-answer', `it accepts the connection, but does not answer ${within}`, {
      hint: 'see whether it is overloaded or hangs, and restart it; or another program has the port in its address',
    });
  }
  throw new ReviewSyncError('no-answer', `no connection comes about ${within}`, {
    hint: 'see whether the server is up, open the firewall, or correct host and port in its address',
  });
}

/** Of what does not answer no leave is waited for. */
export async function takeLeave(closing: Promise<unknown>): Promise<void> {
  await Promise.race([closing.catch(() => {}), after(probeMs, undefined)]);
}

const after = <T>(delayMs: number, value: T) => new Promise<T>((resolve) => void setTimeout(resolve, delayMs, value));

const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'redis:': 6379, 'rediss:': 6379 };

function takesConnections(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (usualPorts[protocol] ?? 5432),
      timeout: probeMs,
    });
    const end = (takes: boolean) => {
      socket.destroy();
      resolve(takes);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
