import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createDatabase } from '../harness/database.ts';

const run = promisify(execFile);

/** A process of its own: the simulator replaces clocks, timers and drivers of the process in which it runs. */
async function simulate(...options: string[]): Promise<string> {
  const address = await createDatabase();
  const ended = await run(process.execPath, [
    join(import.meta.dirname, 'main.ts'),
    '--postgres',
    address,
    ...options,
  ]).catch((error: { stdout: string; stderr: string }) => error);
  return ended.stdout + ended.stderr;
}

const isExhaustive = process.env.EXHAUSTIVE === '1';

test('worlds of fixed seeds end as they should', async () => {
  expect(await simulate('--minutes', '20', '--worlds', isExhaustive ? '5000' : '30')).toContain(
    ', 0 not as they should be',
  );
});

test('worlds in which the service changes the fields of reviews end as they should', async () => {
  expect(await simulate('--with', 'drift', '--minutes', '20', '--worlds', isExhaustive ? '200' : '2')).toContain(
    ', 0 not as they should be',
  );
});

test('worlds of the seeds of this day end as they should', async () => {
  const day = Math.floor(Date.now() / 86_400_000);
  expect(await simulate('--seconds', isExhaustive ? '600' : '8', '--from', String(day * 1000))).toContain(
    ', 0 not as they should be',
  );
});

test('three brands on one warehouse live through a week, one healthy, one without service, one with broken queries', async () => {
  const worlds = isExhaustive ? '50' : '1';
  expect(await simulate('--brands', '--days', '7', '--minutes', '20', '--worlds', worlds)).toContain(
    ', 0 not as they should be',
  );
});

test('a seed is the same world each time', async () => {
  const [one, again] = await Promise.all([simulate('--seed', '11'), simulate('--seed', '11')]);
  const hashOf = (text: string) => /^seed 11 \((\w+)\)/m.exec(text)?.[1];
  expect(hashOf(one)).toBeDefined();
  expect(hashOf(one)).toBe(hashOf(again));
});
