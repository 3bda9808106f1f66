import type { Counts } from '../counts.ts';
import { RefusedError, type ReviewApi } from '../review-api/index.ts';
import type { Shop } from '../shop/index.ts';
import { type Category, type RawRow, readCategory } from '../shop/rows.ts';
import { categoryFingerprints, saveCategoryLink } from '../warehouse/catalog-links.ts';
import { keyOf, type NewDeadLetter, putDeadLetter, resolveDeadLettersExcept } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { fingerprint } from './fingerprint.ts';

export type CategoryDeps = { api: Pick<ReviewApi, 'categories'>; shop: Shop; db: Db; signal: AbortSignal };

/**
 * Upserts the shop's categories (spec, "Categories"), parents first whatever order the rows come in. One whose parent
 * is unknown, part of a cycle, or refused becomes a dead letter, and so do those below it.
 */
export async function syncCategories(deps: CategoryDeps): Promise<Counts> {
  const rows = await deps.shop.categories();
  if (rows === undefined) return {};
  const { ordered, letters } = parentsFirst(rows);
  const known = await categoryFingerprints(deps.db);
  const counts: Counts = { categories: rows.length };
  const failed = new Set(letters.map((letter) => letter.key));
  for (const category of ordered) {
    deps.signal.throwIfAborted();
    const print = fingerprint(category);
    if (category.parentCode !== undefined && failed.has(category.parentCode)) {
      letters.push(letter(category.code, `its parent ${category.parentCode} could not be synced`, category));
      failed.add(category.code);
    } else if (known.get(category.code) !== print) {
      try {
        const { id } = await deps.api.categories.upsert({
          code: category.code,
          name: category.name,
          parent_category_code: category.parentCode,
          status: category.status,
        });
        await saveCategoryLink(deps.db, { code: category.code, id, fingerprint: print });
        counts.categories_pushed = (counts.categories_pushed ?? 0) + 1;
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        letters.push(letter(category.code, error.message, category));
        failed.add(category.code);
      }
    }
  }
  for (const one of letters) await putDeadLetter(deps.db, one);
  await resolveDeadLettersExcept(deps.db, 'category', [...failed]);
  return counts;
}

/** The categories in an order in which each comes after its parent; those for which there is none, as dead letters. */
export function parentsFirst(rows: readonly RawRow[]): { ordered: Category[]; letters: NewDeadLetter[] } {
  const letters: NewDeadLetter[] = [];
  const byCode = new Map<string, Category>();
  for (const raw of rows) {
    const read = readCategory(raw);
    if ('fault' in read) letters.push(letter(raw.code || keyOf(raw), read.fault, raw));
    else if (byCode.has(read.row.code)) letters.push(letter(`${read.row.code}#2`, 'its code is there twice', raw));
    else byCode.set(read.row.code, read.row);
  }
  const ordered: Category[] = [];
  const state = new Map<string, 'open' | 'placed' | 'refused'>();

  function place(category: Category, path: readonly string[]): boolean {
    const before = state.get(category.code);
    if (before === 'open') return false;
    if (before !== undefined) return before === 'placed';
    state.set(category.code, 'open');
    const reason = refusalOf(category, path);
    state.set(category.code, reason === undefined ? 'placed' : 'refused');
    if (reason === undefined) ordered.push(category);
    else letters.push(letter(category.code, reason, category));
    return reason === undefined;
  }

  function refusalOf(category: Category, path: readonly string[]): string | undefined {
    if (category.parentCode === undefined) return undefined;
    const here = [...path, category.code];
    const cycle = here.indexOf(category.parentCode);
    if (cycle >= 0) return `its parents form a cycle: ${[...here.slice(cycle), category.parentCode].join(' → ')}`;
    const parent = byCode.get(category.parentCode);
    if (!parent) return `its parent ${category.parentCode} is not among the categories`;
    return place(parent, here) ? undefined : `its parent ${category.parentCode} could not be synced`;
  }

  for (const category of byCode.values()) place(category, []);
  return { ordered, letters };
}

const letter = (key: string, reason: string, payload: unknown): NewDeadLetter => ({
  kind: 'category',
  key,
  reason,
  payload,
});
