import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

const skipped = new Set(['node_modules', '.git', 'dist', '.review-sync']);

/** The relative links of all Markdown files below a folder that lead to no file, or to no heading of one. */
export async function deadLinks(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith('.md') && !name.split('/').some((part) => skipped.has(part)))
    .map((name) => join(folder, name));
  const dead = await Promise.all(
    files.map(async (file) => {
      const text = withoutCode(await readFile(file, 'utf8'));
      const targets = [...text.matchAll(/\]\(([^()\s]+)\)|\b(?:src|href)="([^"]+)"/g)].map(([, a, b]) => a ?? b ?? '');
      const relatives = targets.filter((target) => !/^[a-z]+:/.test(target));
      const found = await Promise.all(relatives.map(async (target) => [target, await isThere(file, target)] as const));
      return found.flatMap(([target, there]) => (there ? [] : `${relative(folder, file)}: ${target}`));
    }),
  );
  return dead.flat().sort();
}

async function isThere(file: string, target: string): Promise<boolean> {
  const [path = '', heading] = target.split('#');
  const to = path === '' ? file : resolve(dirname(file), path);
  if (!(await stat(to).catch(() => undefined))) return false;
  if (heading === undefined) return true;
  const headings = withoutCode(await readFile(to, 'utf8')).matchAll(/^#+ (.*)$/gm);
  return [...headings].some(([, title = '']) => anchorOf(title) === heading);
}

/** As GitHub makes them. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Blocks of code have no links. */
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/^ {4}.*$/gm, '');
