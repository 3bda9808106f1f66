import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { openWorld, worldTest as test } from '../harness/world.ts';

test('a slow reader of a pipe gets the whole output; one that goes away, no error', async ({ world }) => {
  // More to say than a pipe of 64 KiB holds.
  await world.warehouse(`insert into sync.dead_letters (kind, key, reason, payload)
    select 'review', n::text, 'field ' || translate(n::text, '0123456789', 'abcdefghij'), '{}' from generate_series(1, 2000) n`);
  const list = () => {
    const args = [packagePath('src', 'cli', 'main.ts'), 'dead-letters', 'list', '--json'];
    const child = spawn(process.execPath, args, { env: world.environment, stdio: ['ignore', 'pipe', 'pipe'] });
    return { child, ended: once(child, 'close') };
  };
  const [slow, gone] = [list(), list()];
  gone.child.stdout.once('data', () => gone.child.stdout.destroy());
  // The pipe is full before anything is read.
  await once(slow.child.stdout, 'readable');
  const stdout = await text(slow.child.stdout);
  expect(stdout.length).toBeGreaterThan(3 * 65_536);
  expect(JSON.parse(stdout)).toHaveLength(2000);
  expect(await text(gone.child.stderr)).toBe('');
  expect([(await slow.ended)[0], (await gone.ended)[0]]).toEqual([0, 0]);
});

test('with --json a command that fails prints one document with the error', async () => {
  const environment = { QUEUE_URL: 'no address' };
  for (const args of [['status'], ['sync', 'everything'], ['verify', 'reviews', '--no-such-option']]) {
    const { status, stdout, stderr } = await runCli([...args, '--json'], environment);
    const { error } = JSON.parse(stdout);
    expect(status).toBe(2);
    expect(error.code).toBe('usage');
    expect(stderr).toMatch(/^review-sync: /);
    expect(stderr).toContain(error.message);
  }
  await using world = await openWorld();
  await world.warehouse('drop table sync.runs cascade');
  const { status, stdout } = await world.cli('status --json');
  const message = 'relation "sync.run_rows" does not exist';
  expect([status, JSON.parse(stdout)]).toMatchObject([1, { error: { code: null, message } }]);
});

test('a report of what is wrong is on standard error too, once where both are one', async ({ world }) => {
  const environment = { ...world.environment, QUEUE_URL: 'redis://127.0.0.1:1' };
  // More than the characters that are masked at a time, with ids that look like tokens.
  const id = (n: number) => `backfill-orders-mi3f8x2k-c0ffee${String(n).padStart(6, 'a')}`;
  await world.warehouse(`insert into sync.runs (id, job, started_by, started_at)
    select 'backfill-orders-mi3f8x2k-c0ffee' || lpad(n::text, 6, 'a'), 'backfill-orders', 'command', now() - n * interval '1 hour'
    from generate_series(1, 40) n`);
  for (const more of [[], ['--json']]) {
    const { status, stderr } = await runCli(['status', ...more], environment);
    expect([status, stderr]).toEqual([1, expect.stringContaining('the queue cannot be read')]);
    for (const n of [1, 40]) expect(stderr).toContain(`review-sync runs end ${id(n)} ends it`);
  }
  const env = { ...environment, NODE: process.execPath, MAIN: packagePath('src', 'cli', 'main.ts') };
  const { stdout } = spawnSync('sh', ['-c', '"$NODE" "$MAIN" status 2>&1'], { env, encoding: 'utf8' });
  expect(stdout.split(/^ {2}the queue cannot be read/m)).toHaveLength(2);
});

test.skipIf(!existsSync('/dev/full'))('a report that a full disk does not take ends the command with 1', () => {
  const main = packagePath('src', 'cli', 'main.ts');
  const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const;
  const { status, stderr } = spawnSync(process.execPath, [main, '--version'], { stdio: [...stdio], encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('could not be written: ENOSPC') });
});

test.skipIf(!existsSync('/dev/full'))('a log that a full disk does not take ends no process', () => {
  const log = packagePath('src', 'base', 'log.ts');
  const work = `const { openLog } = await import(${JSON.stringify(log)});
    const logger = openLog('info');
    for (const n of Array(3000).keys()) logger.info({ n, text: 'x'.repeat(900) }, 'a line');
    setTimeout(() => console.log('worked on'))`;
  const stdio = ['ignore', 'pipe', openSync('/dev/full', 'w')] as const;
  const { status, stdout } = spawnSync(process.execPath, ['-e', work], { stdio: [...stdio], encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'worked on\n' });
});

test('a queue that was never migrated is named by every command that needs it', async ({ world }) => {
  world.environment.QUEUE_URL = await createDatabase();
  const said = expect.stringMatching(/lacks its tables.*Run: review-sync migrate/s);
  for (const command of ['sync reviews', 'worker', 'dead-letters retry']) {
    const { status, stderr } = await world.cli(command);
    expect([command, status, stderr]).toEqual([command, 1, said]);
  }
  const { stdout } = await world.cli('status');
  expect(stdout).toMatch(/lacks its tables[^→]*→ Run: review-sync migrate/);
});
