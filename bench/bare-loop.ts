/** Sends recorded requests as fast as undici can, eight in flight; prints seconds as JSON. */
import { readFile } from 'node:fs/promises';
import { Pool } from 'undici';

const [origin = '', file = ''] = process.argv.slice(2);
const requests = JSON.parse(await readFile(file, 'utf8')) as { method: string; path: string; body: string }[];
const inFlight = 8;
const pool = new Pool(origin, { connections: inFlight, pipelining: 1 });
const startedMs = performance.now();
let next = 0;
async function sendOn(): Promise<void> {
  for (let one = requests[next++]; one; one = requests[next++]) {
    const { body } = await pool.request({
      method: one.method as 'POST',
      path: one.path,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: one.body,
    });
    await body.json();
  }
}
await Promise.all(Array.from({ length: inFlight }, sendOn));
const seconds = (performance.now() - startedMs) / 1000;
await pool.close();
process.stdout.write(JSON.stringify({ seconds }));
