import { isSameCode } from '../../base/codes.ts';
import type { Counts } from '../../base/counts.ts';
import { MalformedResponseError, type Category as TheirCategory } from '../../review-api/index.ts';
import { type Category, readCategory } from '../../shop/rows.ts';
import { catalogLinks, saveCatalogLink } from '../../warehouse/orders/catalog-links.ts';
import type { OrderDeps } from '../order-deps.ts';
import { fingerprint } from '../plan/desired-order.ts';
import { keptThere } from '../requests.ts';
import { openRecords, readCatalogRows } from './catalog-record.ts';

/**
 * Brings the service's categories in line with the shop's (docs/interface.md, "Categories"):
 *
 * 1. List what is at the service: a category that was deleted there is made again.
 * 2. Upsert what is new or changed, parents first whatever order the rows come in. A category becomes a dead
 *    letter if its parent is not at the service and cannot be synced.
 * 3. Clear the parent of a category that has none in the shop any more.
 *
 * A category that the shop deletes stays at the service.
 */
export async function syncCategories(deps: OrderDeps): Promise<Counts> {
  const { db, api } = deps;
  const rows = (await deps.shop.categories()) ?? [];
  const { byCode, deadLetters } = readCatalogRows('category', rows, readCategory);
  const records = await openRecords(deps, 'category', deadLetters);
  const links = await catalogLinks(db, 'category');
  const theirs = rows.length === 0 ? undefined : await categoriesAtService(deps);
  const isParentSelected = rows.some(({ row }) => 'parent_code' in row);
  let pushed = 0;

  for (const category of parentsFirst(byCode, records.fail)) {
    deps.signal.throwIfAborted();
    const { code, name, parentCode, status } = category;
    if (parentCode !== undefined && !theirs?.byCode.has(parentCode)) {
      const hasFailed = records.hasFailed(parentCode);
      const what = hasFailed ? 'could not be synced' : 'is not among the categories';
      if (hasFailed || !byCode.has(parentCode)) {
        records.fail(category, `its parent ${parentCode} ${what}`);
        continue;
      }
    }
    const hash = fingerprint(category);
    const link = links.get(code);
    let current = theirs && (theirs.byCode.get(code) ?? (link && theirs.byId.get(link.id)));
    const isThere = theirs === undefined || (current !== undefined && current.id === link?.id);
    if (!isThere || link?.fingerprint !== hash) {
      const body = { code, name, parent_category_code: parentCode, status };
      current = await records.attempt(category, (options) => api.categories.upsert(body, options));
      if (current === undefined) continue;
      if (!isSameCode(current.code, code)) {
        records.fail(category, `the service holds this code and ${JSON.stringify(current.code)} for one`);
        continue;
      }
      theirs?.byCode.set(code, current);
      theirs?.byId.set(current.id, current);
      await saveCatalogLink(db, 'category', { code, id: current.id, fingerprint: hash });
      pushed += 1;
    }
    const id = current?.id;
    if (!isParentSelected || parentCode !== undefined || id === undefined || !current?.parent_category_id) continue;
    // The spec does not show whether a service takes an empty parent as "no parent": reading the category does.
    const cleared = await records.attempt(category, async (options) => {
      await api.categories.update(id, { parent_category_id: null }, options);
      return api.categories.get(id, options);
    });
    if (cleared?.parent_category_id) records.fail(category, keptThere('its parent'));
  }

  await records.end();
  return rows.length === 0 ? {} : { categories: rows.length, ...(pushed > 0 && { categories_pushed: pushed }) };
}

type TheirCategories = { byCode: Map<string, TheirCategory>; byId: Map<number, TheirCategory> };

/**
 * Undefined if the service cannot list them all: the spec shows no page parameter, and a service without one shows
 * only the first hundred. Then a category that was deleted at the service goes unnoticed.
 */
async function categoriesAtService(deps: OrderDeps): Promise<TheirCategories | undefined> {
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

/** Sorts the categories by their number of ancestors, so parents come first. Categories in a cycle fail. */
function parentsFirst(byCode: ReadonlyMap<string, Category>, fail: (category: Category, reason: string) => void) {
  const depths = new Map<Category, number>();
  for (const category of byCode.values()) {
    const above = new Set<string>();
    let at = category.parentCode;
    while (at !== undefined && byCode.has(at) && !above.has(at)) {
      above.add(at);
      at = byCode.get(at)?.parentCode;
    }
    const { code } = category;
    if (above.has(code)) fail(category, `its parents form a cycle: ${[code, ...above].join(' → ')}`);
    else depths.set(category, above.size);
  }
  return [...depths].sort(([, a], [, b]) => a - b).map(([category]) => category);
}
