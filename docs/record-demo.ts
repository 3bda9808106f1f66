/**
 * Runs the demo and draws what it printed as an animated terminal: `node docs/record-demo.ts` writes docs/demo.svg. Arguments
 * are the demo's.
 * Each line appears when it was printed, faster by a factor that fits all of it into the length of the film, but not faster than
 * a line can be seen to come.
 */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

type Line = { text: string; atMs: number };

const filmMs = 12_000;
/** The last picture stays so long before the film starts again. */
const restMs = 8000;
/** Between two lines, so that a table which was printed at once does not jump by. */
const lineMs = 80;
const shown = { columns: 122, rows: 30 };
const font = { size: 13, width: 7.85, height: 18 };
const margin = 16;

async function record(): Promise<Line[]> {
  const main = join(import.meta.dirname, '..', 'src', 'cli', 'main.ts');
  const args = process.argv.slice(2);
  const demo = spawn(process.execPath, [main, 'demo', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const startedMs = performance.now();
  const lines: Line[] = [
    { text: args.length === 0 ? '$ npm run demo' : `$ npm run demo -- ${args.join(' ')}`, atMs: 0 },
  ];
  const keep = (text: string) => lines.push({ text, atMs: performance.now() - startedMs });
  for (const stream of [demo.stdout, demo.stderr]) createInterface({ input: stream }).on('line', keep);
  const status = await new Promise((resolve) => demo.once('close', resolve));
  if (status !== 0) throw new Error(`the demo ended with status ${status}`);
  return lines;
}

/** Without the SQL, which is indented by four spaces and would fill the film. */
const withoutSql = (lines: readonly Line[]) =>
  lines
    .filter(({ text }) => !/^ {4}/.test(text))
    .filter(({ text }, at, kept) => text !== '' || kept[at - 1]?.text !== '');

/** The lines with their time in the film. */
function paced(lines: readonly Line[]): Line[] {
  const scale = Math.min(1, filmMs / Math.max(...lines.map(({ atMs }) => atMs)));
  let last = -lineMs;
  return lines.map(({ text, atMs }) => {
    last = Math.max(atMs * scale, last + lineMs);
    return { text, atMs: last };
  });
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function draw(lines: readonly Line[]): string {
  const totalMs = Math.max(...lines.map(({ atMs }) => atMs)) + restMs;
  const percent = (atMs: number) => Math.max(0.01, (100 * atMs) / totalMs).toFixed(2);
  // The text moves up by a line for each line below the last row.
  const ups = new Map(lines.map(({ atMs }, at) => [percent(atMs), Math.max(0, at + 1 - shown.rows)]));
  const steps = [...ups].map(([at, up]) => `${at}%{transform:translateY(${-up * font.height}px)}`);
  const last = Math.max(0, lines.length - shown.rows) * font.height;
  const width = shown.columns * font.width + 2 * margin;
  const height = shown.rows * font.height + 2 * margin;
  const rows = lines.map(({ text, atMs }, at) => {
    const y = margin + (at + 0.8) * font.height;
    const cut = escaped(text.slice(0, shown.columns));
    // A line is there once the film has come to its time.
    const name = `l${at}`;
    const frames = `@keyframes ${name}{0%{opacity:0}${percent(atMs)}%,100%{opacity:1}}`;
    return { frames, row: `<text x="${margin}" y="${y}" style="animation-name:${name}">${cut}</text>` };
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run of npm run demo">
<style>
rect{fill:#f6f8fa;stroke:#d0d7de}text{fill:#1f2328;font:${font.size}px ui-monospace,Menlo,Consolas,monospace;white-space:pre;animation:${totalMs.toFixed(0)}ms step-end infinite}
#film{animation:up ${totalMs.toFixed(0)}ms step-end infinite}
@media(prefers-color-scheme:dark){rect{fill:#0d1117;stroke:#30363d}text{fill:#e6edf3}}
@media(prefers-reduced-motion:reduce){text{animation:none}#film{animation:none;transform:translateY(${-last}px)}}
@keyframes up{0%{transform:none}${steps.join('')}100%{transform:translateY(${-last}px)}}
${rows.map(({ frames }) => frames).join('\n')}
</style>
<clipPath id="screen"><rect width="${width}" height="${height}"/></clipPath>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
<g clip-path="url(#screen)"><g id="film">
${rows.map(({ row }) => row).join('\n')}
</g></g>
</svg>
`;
}

await writeFile(join(import.meta.dirname, 'demo.svg'), draw(paced(withoutSql(await record()))));
