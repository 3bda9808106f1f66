import { stat } from 'node:fs/promises';
import { type Finding, ok, warning } from './finding.ts';

/** Whether other users of this machine can read the passwords in `.env` of the working directory. */
export async function checkEnvFile(file = '.env'): Promise<Finding[]> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || process.platform === 'win32') return [];
  if ((found.mode & 0o077) === 0) return [ok('.env can be read by its owner only')];
  return [warning('.env, which holds passwords, can be read by other users of this machine', 'run: chmod 600 .env')];
}
