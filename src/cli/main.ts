#!/usr/bin/env node
import { writeSync } from 'node:fs';
import { cacheCompiledFiles } from './cache-compiled-files.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 19)) {
  // Applies only to modules imported after this line.
  cacheCompiledFiles();
  await import('./start.ts');
} else {
  const found = `review-sync: this is Node ${process.versions.node}, expected 22.19 or newer`;
  writeSync(2, `${found}\nInstall Node 24 LTS, or add it to your project: npm install node@24\n`);
  // If a process only sets its exit status, a process manager such as pm2 keeps it alive by an open channel.
  process.exit(2);
}
