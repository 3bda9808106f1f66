import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { runProcess } from '../harness/cli.ts';

/** Runs a program that has a fault, after what the command line does at its start. */
function faulty(program: string) {
  const file = JSON.stringify(packagePath('src', 'cli', 'last-resort.ts'));
  const text = `const { explainFaults } = await import(${file}); explainFaults(); ${program}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
const sentence = (words: string) => `review-sync: ${words}. This is a fault of review-sync; please report it.\n`;

test('a promise that fails and that nobody waits for is reported, and ends nothing', () => {
  expect(faulty(`Promise.reject(new Error('lost')); setTimeout(() => console.log('went on'), 1)`)).toEqual({
    status: 0,
    stdout: 'went on\n',
    stderr: sentence('a failure that nothing waits for: lost'),
  });
});

test('an error thrown outside of any work ends the process with a sentence', () => {
  expect(faulty(`setTimeout(() => { throw new Error('broken') }, 1)`)).toEqual({
    status: 1,
    stdout: '',
    stderr: sentence('an error that nothing expects: broken'),
  });
});

test('a program that waits for what cannot come ends with a sentence', () => {
  expect(faulty(`await new Promise(() => {})`)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(sentence('ended before its work was done')),
  });
});

test('a .env that cannot be read is no fault of the program', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'review-sync-env-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await mkdir(join(cwd, '.env'));
  expect(await runProcess(['status'], {}, cwd)).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^review-sync: \.env cannot be read: EISDIR.*\nIt must be a file/),
  });
  const { status, stdout } = await runProcess(['status', '--json'], {}, cwd);
  const error = { code: 'usage', message: expect.stringContaining('EISDIR'), hint: expect.stringContaining('a file') };
  expect([status, JSON.parse(stdout)]).toEqual([2, { error }]);
});

test.skipIf(process.getuid?.() !== 0)('a .env of another user, or that others may change, is not read', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'review-sync-env-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const file = join(cwd, '.env');
  await writeFile(file, 'QUEUE_URL=no address');
  await chmod(file, 0o646);
  expect((await runProcess(['status'], {}, cwd)).stderr).toContain('every user of this machine may change it');
  await chmod(file, 0o664);
  expect((await runProcess(['status'], {}, cwd)).stderr).toContain('QUEUE_URL is malformed');
  await chown(file, 0, 65_534);
  expect((await runProcess(['status'], {}, cwd)).stderr).toContain('its group may change it (gid 65534)');
  await chmod(file, 0o600);
  await chown(file, 65_534, 65_534);
  expect((await runProcess(['status'], {}, cwd)).stderr).toContain('it belongs to another user (uid 65534)');
});

test.skipIf(process.platform === 'win32')('a .env that is a pipe is refused, and not waited for', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'review-sync-env-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  execFileSync('mkfifo', [join(cwd, '.env')]);
  const end = await runProcess(['status'], {}, cwd);
  expect(end).toMatchObject({ status: 2, stderr: expect.stringContaining('it is no file') });
});

test('the first variable of a .env that an editor on Windows wrote is read', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'review-sync-env-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await writeFile(join(cwd, '.env'), '\uFEFFQUEUE_URL=no address\r\n');
  expect(await runProcess(['status'], {}, cwd)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('  QUEUE_URL is malformed'),
  });
});
