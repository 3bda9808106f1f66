/**
 * Loaded before a command (`node --import`): writes the peak of its resident memory, in MB, into the file
 * PEAK_MEMORY_FILE.
 */
import { writeFileSync } from 'node:fs';

const file = process.env.PEAK_MEMORY_FILE;
process.on('exit', () => {
  if (file !== undefined) writeFileSync(file, String(process.resourceUsage().maxRSS / 1024));
});
