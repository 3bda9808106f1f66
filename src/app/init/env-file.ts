import { appendFile, chmod, readFile, writeFile } from 'node:fs/promises';
import { UsageError } from '../../base/errors.ts';
import { parseEnvFile } from '../../base/parse-env-file.ts';

/** A variable with the comment above it. */
export type EnvLine = { name: string; value: string; comment: string };

/**
 * Adds the variables that the file lacks, at its end; no line that is there is changed. The file is made readable for
 * its owner only, since it holds passwords.
 *
 * @returns the names that were added.
 * @throws UsageError if a value cannot be written in such a file.
 */
export async function completeEnvFile(file: string, wanted: readonly EnvLine[]): Promise<string[]> {
  const before = await readIfThere(file);
  const there = parseEnvFile(before ?? '');
  const added = wanted.filter(({ name }) => !(name in there));
  if (added.length === 0) return [];
  const text = added.map(({ name, value, comment }) => `# ${comment}\n${name}=${quoted(name, value)}\n`).join('\n');
  if (before === undefined) await writeFile(file, text, { mode: 0o600, flag: 'wx' });
  else {
    await chmod(file, 0o600);
    await appendFile(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}\n${text}`);
  }
  return added.map(({ name }) => name);
}

const readIfThere = (file: string) =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`${file} cannot be read`, { cause: error });
  });

function quoted(name: string, value: string): string {
  if (/^[\w:/@.%+,?&=~-]*$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((sign) => !value.includes(sign));
  if (quote === undefined || value.includes('\n')) {
    throw new UsageError(`The value of ${name} cannot be written into .env`, { hint: `Write ${name} yourself.` });
  }
  return `${quote}${value}${quote}`;
}
