import type { Counts } from '../../base/counts.ts';
import { MalformedResponseError, type ReviewApi, type Category as TheirCategory } from '../../review-api/index.ts';
import type { Shop } from '../../shop/index.ts';
import { type Category, isUsableCode, readCategory } from '../../shop/rows.ts';
import { type NewDeadLetter, putDeadLetter, resolveDeadLettersExcept } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { catalogLinks, recordDifferences, saveCatalogLink } from '../../warehouse/orders/catalog-links.ts';
import { fingerprint } from '../order/fingerprint.ts';
import type { Patience } from '../requests.ts';
import { type CatalogAttempt, openAttempts, readCatalogRows } from './catalog-record.ts';

export type CategoryDeps = {
  api: Pick<ReviewApi, 'categories' | 'orders'>;
  shop: Shop;
  db: Db;
  signal: AbortSignal;
  patience: Patience;
};

/**
 * Brings the service's categories in line with the shop's (spec, "Categories"):
 *
 * 1. List what is at the service: a category that was deleted there is made again.
 * 2. Upsert what is new or changed, parents first whatever order the rows come in. A category whose parent is neither
 *    at the service nor can be synced becomes a dead letter.
 * 3. Clear the parent of a category that has none in the shop any more.
 * 4. Record what cannot be brought in line: categories deleted in the shop (the service keeps them), and parents
 *    that the service does not clear.
 */
export async function syncCategories(deps: CategoryDeps): Promise<Counts> {
  const rows = await deps.shop.categories();
  if (rows === undefined) {
    await resolveDeadLettersExcept(deps.db, 'category', []);
    return {};
  }
  const read = readCatalogRows('category', rows, readCategory);
  const { ordered, deadLetters } = parentsFirst(read.byCode);
  deadLetters.push(...read.deadLetters);
  const failed = new Set(deadLetters.map(({ key }) => key));
  const links = await catalogLinks(deps.db, 'category');
  const theirs = await categoriesAtService(deps);
  const attempt = await openAttempts(deps, 'category');
  const isParentSelected = rows.some(({ row }) => 'parent_code' in row);
  const notCleared: string[] = [];
  const counts: Counts = { categories: rows.length };

  for (const category of ordered) {
    deps.signal.throwIfAborted();
    const { code, parentCode } = category;
    const isParentSynced = parentCode !== undefined && read.byCode.has(parentCode) && !failed.has(parentCode);
    if (parentCode !== undefined && !isParentSynced && !theirs?.byCode.has(parentCode)) {
      const isInShop = read.byCode.has(parentCode) || failed.has(parentCode);
      const why = isInShop ? 'could not be synced' : 'is not among the categories';
      deadLetters.push(deadLetter(category, `its parent ${parentCode} ${why}`));
      failed.add(code);
      continue;
    }
    const hash = fingerprint(category);
    const link = links.get(code);
    let current = theirs && (theirs.byCode.get(code) ?? (link && theirs.byId.get(link.id)));
    const isThere = theirs === undefined || (current !== undefined && current.id === link?.id);
    if (!isThere || link?.fingerprint !== hash) {
      const pushed = await attempt(code, (options) => deps.api.categories.upsert(bodyOf(category), options));
      if ('failed' in pushed) {
        deadLetters.push(deadLetter(category, pushed.failed));
        failed.add(code);
        continue;
      }
      current = pushed.value;
      theirs?.byCode.set(code, current);
      theirs?.byId.set(current.id, current);
      await saveCatalogLink(deps.db, 'category', { code, id: current.id, fingerprint: hash });
      counts.categories_pushed = (counts.categories_pushed ?? 0) + 1;
    }
    const mustClear = isParentSelected && parentCode === undefined && (current?.parent_category_id ?? null) !== null;
    if (mustClear && current && !(await clearParent(deps, attempt, current))) notCleared.push(code);
  }

  for (const one of deadLetters) await putDeadLetter(deps.db, one);
  await resolveDeadLettersExcept(deps.db, 'category', [...failed]);
  const extra = await recordDifferences(deps.db, 'category', {
    shopCodes: rows.map(({ row }) => row.code).filter(isUsableCode),
    idsAtService: theirs && [...theirs.byId.keys()],
    notCleared,
  });
  if (extra.length > 0) counts.catalog_extra = extra.length;
  if (notCleared.length > 0) counts.categories_not_clearable = notCleared.length;
  return counts;
}

type TheirCategories = { byCode: Map<string, TheirCategory>; byId: Map<number, TheirCategory> };

/**
 * Undefined where the service cannot list them all: the spec shows no page parameter, and a service without one shows
 * only the first hundred. Then a category that was deleted at the service goes unnoticed.
 */
async function categoriesAtService(deps: CategoryDeps): Promise<TheirCategories | undefined> {
  const theirs: TheirCategories = { byCode: new Map(), byId: new Map() };
  try {
    for await (const { items } of deps.api.categories.listAll()) {
      for (const one of items) {
        theirs.byCode.set(one.code, one);
        theirs.byId.set(one.id, one);
      }
    }
    return theirs;
  } catch (error) {
    if (error instanceof MalformedResponseError && theirs.byId.size > 0) return undefined;
    throw error;
  }
}

const bodyOf = ({ code, name, parentCode, status }: Category) => ({
  code,
  name,
  parent_category_code: parentCode,
  status,
});

/**
 * Sends an empty parent. The spec does not show whether a service takes that as "no parent", so this reads the
 * category again.
 */
async function clearParent(deps: CategoryDeps, attempt: CatalogAttempt, { id, code }: TheirCategory): Promise<boolean> {
  const cleared = await attempt(code, async (options) => {
    await deps.api.categories.update(id, { parent_category_id: null }, options);
    return deps.api.categories.get(id, options);
  });
  return 'value' in cleared && cleared.value.parent_category_id === null;
}

/** Sorts the categories so that each comes after its parent. Those in a cycle become dead letters. */
export function parentsFirst(byCode: ReadonlyMap<string, Category>): {
  ordered: Category[];
  deadLetters: NewDeadLetter[];
} {
  const ordered: Category[] = [];
  const deadLetters: NewDeadLetter[] = [];
  const done = new Set<string>();

  /** @param path the codes below this category that wait for it. */
  function place(category: Category, path: readonly string[]): void {
    if (done.has(category.code)) return;
    const cycle = path.indexOf(category.code);
    if (cycle >= 0) {
      const codes = [...path.slice(cycle), category.code];
      for (const code of codes.slice(1)) {
        const one = byCode.get(code);
        if (one && !done.has(code)) deadLetters.push(deadLetter(one, `its parents form a cycle: ${codes.join(' → ')}`));
        done.add(code);
      }
      return;
    }
    const parent = category.parentCode === undefined ? undefined : byCode.get(category.parentCode);
    if (parent) place(parent, [...path, category.code]);
    if (done.has(category.code)) return;
    done.add(category.code);
    ordered.push(category);
  }

  for (const category of byCode.values()) place(category, []);
  return { ordered, deadLetters };
}

const deadLetter = (category: Category, reason: string): NewDeadLetter => ({
  kind: 'category',
  key: category.code,
  reason,
  payload: category,
});
