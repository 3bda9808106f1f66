import { execFileSync, spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
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
  expect(faulty(lost)).toEqual({ ...wentOn, stderr: sentence('a failure that nothing waits for: lost') });
  const broken = { status: 1, stdout: '', stderr: sentence('an error that nothing expects: broken') };
  expect(faulty(`setTimeout(() => { throw new Error('broken') }, 1)`)).toEqual(broken);
  const waits = { status: 1, stderr: expect.stringContaining(sentence('ended before its work was done')) };
  expect(faulty(`await new Promise(() => {})`)).toMatchObject(waits);
  // A full disk takes no sentence.
  if (process.platform === 'linux') expect(faulty(lost, openSync('/dev/full', 'w'))).toMatchObject(wentOn);
});

/** What `status` says in a folder with this .env. */
async function statusWith(makeEnv: (file: string) => unknown, ...args: string[]) {
  const cwd = await temporaryFolder();
  await makeEnv(join(cwd, '.env'));
  return runProcess(['status', ...args], {}, cwd);
}

test('a .env that cannot be read, or that another user may change, is refused', async () => {
  expect(await statusWith((file) => mkdir(file))).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^review-sync: \.env cannot be read: EISDIR.*\nIt must be a file/),
  });
  const { status, stdout } = await statusWith((file) => mkdir(file), '--json');
  const error = { code: 'usage', message: expect.stringContaining('EISDIR'), hint: expect.stringContaining('a file') };
  expect([status, JSON.parse(stdout)]).toEqual([2, { error }]);
  const refused = async (makeEnv: (file: string) => unknown, said: string) =>
    expect(await statusWith(makeEnv)).toMatchObject({ status: 2, stderr: expect.stringContaining(said) });
  if (process.platform !== 'win32') await refused((file) => execFileSync('mkfifo', [file]), 'it is no file');
  const text = '\uFEFFQUEUE_URL=no address\r\n';
  // An editor on Windows wrote it: its first variable is read.
  await refused((file) => writeFile(file, text), '  QUEUE_URL is malformed');
  // A line without an equals sign would mean the default, which mails.
  const names = ['ORDER_BATCH_SIZE', 'ORDER_DELETES', 'ORDER_RESCAN_DAYS'];
  await refused(
    (file) => writeFile(file, `${names[0]}: 500\n export ${names[1]} off\n${names[2]}＝3\n`),
    names.map((name) => `  ${name}: is not read: expected ${name}\n`).join(''),
  );
  if (process.getuid?.() !== 0) return;
  const asOf = (uid: number, gid: number, mode: number) => async (file: string) => {
    await writeFile(file, text);
    await chmod(file, mode);
    await chown(file, uid, gid);
  };
  await refused(asOf(0, 0, 0o646), 'every user of this machine may change it');
  await refused(asOf(0, 0, 0o664), '  QUEUE_URL is malformed');
  await refused(asOf(0, 65_534, 0o664), 'its group may change it (gid 65534)');
  await refused(asOf(65_534, 65_534, 0o600), 'it belongs to another user (uid 65534)');
});
