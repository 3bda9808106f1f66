import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/**
 * A folder of its own for the calling test. @param mode 0o755 where another user must enter, as Postgres run by root.
 */
export async function temporaryFolder(mode = 0o700, place = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(place, 'review-sync-test-'));
  await chmod(folder, mode);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
