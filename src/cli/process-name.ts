import { hostname } from 'node:os';

/** What this process is called where several share the work: host and process id. */
export function processName(): string {
  return `${hostname()}:${process.pid}`;
}
