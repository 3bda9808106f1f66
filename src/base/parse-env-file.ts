import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describeError, UsageError } from './errors.ts';

/**
 * `NAME: value`, `- NAME: value`, `"NAME": value`, `setenv NAME value` and `NAME value`: parseEnv would silently leave
 * these out. No other word may precede the name: a quoted key has lines such as `-----END PRIVATE KEY-----`.
 */
const nameWithoutEquals =
  /^([ \t]*(?:(?:export|setenv|set|-)[ \t]+)?"?[A-Z][A-Z0-9_]{6,}"?)(?!["\w]|[ \t]*(?:[=#\r\n]|$))/gm;

/** The variables of a .env file. A name without an equals sign gets a colon at its end, and is reported as misspelt. */
export const parseEnvFile = (text: string) =>
  parseEnv(text.replace(/^\uFEFF/, '').replaceAll(nameWithoutEquals, '$1:='));

/**
 * The text of a file that decides where data goes. In a shared folder, another user may have put the file there.
 *
 * @throws Error if another user made it, or may change it.
 */
export function ownFile(path: string): string {
  // A pipe would wait for its writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() && !stats.isDirectory()) throw new Error('it is no file');
    const { uid, gid, mode } = stats;
    const own = process.getuid?.() ?? uid;
    if (own !== uid && uid !== 0) throw new Error(`it belongs to another user (uid ${uid})`);
    if (process.getuid && (mode & 0o002) !== 0) throw new Error('every user of this machine may change it');
    // If each user has a group of the same number, files are 664 by default.
    if (gid !== uid && (mode & 0o020) !== 0) throw new Error(`its group may change it (gid ${gid})`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** The variables of a .env file that nobody else may change. @throws UsageError */
export function readEnvFile(path: string) {
  try {
    return parseEnvFile(ownFile(path));
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${describeError(cause)}`, {
      hint: 'It must be a file that this user may read, of this user or root, and that no other user may change.',
    });
  }
}
