#!/usr/bin/env node
import nodeModule from 'node:module';
import { keepHeapSmall } from './small-heap.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 19)) {
  keepHeapSmall();
  // Node keeps what it made of our files from one start to the next, which halves the time and saves memory. Only what is
  // imported after this line.
  nodeModule.enableCompileCache();
  await import('./program.ts');
} else {
  process.stderr.write(`review-sync: this is Node ${process.versions.node}, expected 22.19 or newer\n`);
  process.stderr.write('Install Node 24 LTS, or add it to your project: npm install node@24\n');
  process.exitCode = 2;
}
