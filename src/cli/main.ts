#!/usr/bin/env node
import { cacheCompiledFiles } from './cache-compiled-files.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 19)) {
  // Holds for what is imported after this line only.
  cacheCompiledFiles();
  await import('./start.ts');
} else {
  process.stderr.write(`review-sync: this is Node ${process.versions.node}, expected 22.19 or newer\n`);
  process.stderr.write('Install Node 24 LTS, or add it to your project: npm install node@24\n');
  process.exitCode = 2;
}
