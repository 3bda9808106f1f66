import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** The lease ran out while its holder was frozen or cut off, and another process has taken it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

const machine = hostname();

/** A new holder of a lease: machine, process, and one piece of its work. */
export const newOwner = () => `${machine}:${process.pid}:${randomUUID().slice(24)}`;
