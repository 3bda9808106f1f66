import { execFileSync, spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { ownFile, parseEnvFile } from '../../src/base/parse-env-file.ts';
import { runProcess } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';

/** Runs a program that has a fault, after what the command line does at its start. */
function faulty(program: string, stderrTo: number | 'pipe' = 'pipe') {
  const file = JSON.stringify(packagePath('src', 'cli', 'last-resort.ts'));
  const text = `const { explainFaults } = await import(${file}); explainFaults(); ${program}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', stderrTo],
  });
  return { status, stdout, stderr };
}
const sentence = (words: string) => `review-sync: ${words}. This is a fault of review-sync; please report it.\n`;

test('a fault of the program is a sentence, and only a lost promise goes on', () => {
  const lost = `Promise.reject(new Error('lost')); setTimeout(() => console.log('went on'), 1)`;
  const wentOn = { status: 0, stdout: 'went on\n' };
  const said = ['a failure that nothing waits for: lost', 'an error that nothing expects: broken'].map(sentence);
  const broken = { status: 1, stdout: 'went on\n', stderr: said.join('') };
  expect(faulty(`${lost}; setTimeout(() => { throw new Error('broken') }, 9)`)).toEqual(broken);
  const waits = { status: 1, stderr: expect.stringContaining(sentence('ended before its work was done')) };
  expect(faulty(`await new Promise(() => {})`)).toMatchObject(waits);
  // A full disk takes no sentence.
  if (process.platform === 'linux') expect(faulty(lost, openSync('/dev/full', 'w'))).toMatchObject(wentOn);
});

test('an unreadable .env ends a command with status 2, a sentence and a document', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, '.env'));
  const { status, stdout, stderr } = await runProcess(['status', '--json'], {}, cwd);
  expect(stderr).toMatch(/^review-sync: \.env cannot be read: EISDIR.*\n→ It must be a file/);
  const error = { code: 'usage', message: expect.stringContaining('EISDIR'), hint: expect.stringContaining('a file') };
  expect([status, JSON.parse(stdout)]).toEqual([2, { error }]);
});

test('a file that another user may change, or a pipe, is refused', async () => {
  const file = join(await temporaryFolder(), '.env');
  execFileSync('mkfifo', [file]);
  expect(() => ownFile(file)).toThrow('it is no file');
  await rm(file);
  // An editor on Windows wrote it: its first variable is read.
  await writeFile(file, '\uFEFFQUEUE_URL=no address\r\n');
  expect(parseEnvFile(ownFile(file))).toEqual({ QUEUE_URL: 'no address' });
  if (process.getuid?.() !== 0) return;
  for (const [uid, gid, mode, said] of [
    [0, 0, 0o646, 'every user of this machine may change it'],
    [0, 65_534, 0o664, 'its group may change it (gid 65534)'],
    [65_534, 65_534, 0o600, 'it belongs to another user (uid 65534)'],
  ] as const) {
    await chmod(file, mode);
    await chown(file, uid, gid);
    expect(() => ownFile(file)).toThrow(said);
  }
  await chmod(file, 0o664);
  await chown(file, 0, 0);
  expect(ownFile(file)).toContain('QUEUE_URL');
});
