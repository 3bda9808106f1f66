/** Processor time in seconds, user and system mode, from /proc (Linux only). */
import { readFile } from 'node:fs/promises';

const ticksPerSecond = 100;

/** The processor time of these processes. Processes that have ended count as zero. */
export async function cpuOf(pids: readonly number[]): Promise<number> {
  const ticks = await Promise.all(pids.map(async (pid) => (await ticksOf(pid)).own));
  return ticks.reduce((sum, one) => sum + one, 0) / ticksPerSecond;
}

/** The processor time of the process's children that have ended. */
export async function cpuOfEndedChildren(pid: number): Promise<number> {
  return (await ticksOf(pid)).endedChildren / ticksPerSecond;
}

/**
 * The processor time of the process and its children, also of those that have ended: for a Postgres server, give the
 * pid of its postmaster.
 */
export async function cpuOfFamily(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return (await cpuOf([pid, ...children.split(' ').filter(Boolean).map(Number)])) + (await cpuOfEndedChildren(pid));
}

/** How long a process of one thread has run, and how long it has waited for a processor while others ran. */
export async function scheduleOf(pid: number): Promise<{ ran: number; waited: number }> {
  const [ran = 0, waited = 0] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ').map(Number);
  return { ran: ran / 1e9, waited: waited / 1e9 };
}

async function ticksOf(pid: number): Promise<{ own: number; endedChildren: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const at = (index: number) => Number(fields[index] ?? 0);
  return { own: at(11) + at(12), endedChildren: at(13) + at(14) };
}
