import { isSameCode } from '../../base/codes.ts';
import type { Counts } from '../../base/counts.ts';
import { type Category, readCategory } from '../../shop/rows.ts';
import { catalogLinks, saveCatalogLink } from '../../warehouse/orders/catalog-links.ts';
import type { OrderDeps } from '../order-deps.ts';
import { fingerprint } from '../plan/desired-order.ts';
import { openRecords, readCatalogRows } from './catalog-record.ts';

/**
 * Brings the service's categories in line with the shop's (docs/interface.md, "Categories"): upserts what is new or changed,
 * parents first whatever order the rows come in. A category becomes a dead letter if its parent is not at the service and
 * cannot be synced. The parent of a category that has none in the shop any more is cleared.
 *
 * A category that the shop deletes stays at the service. A category that was deleted there is made again once the shop changes it.
 */
export async function syncCategories(deps: OrderDeps): Promise<Counts> {
  const { db, api } = deps;
  const rows = (await deps.shop.catalog('categories')) ?? [];
  const { byCode, deadLetters } = readCatalogRows('category', rows, readCategory);
  const records = await openRecords(deps, 'category', deadLetters);
  const links = await catalogLinks(db, 'category');
  const isParentSelected = rows.some(({ row }) => 'parent_code' in row);
  let pushed = 0;

  for (const category of parentsFirst(byCode, records.fail)) {
    deps.signal.throwIfAborted();
    const { code, name, parentCode, status } = category;
    const isWithoutParent = isParentSelected && parentCode === undefined;
    const hash = fingerprint({ ...category, isWithoutParent });
    if (parentCode !== undefined && !links.has(parentCode)) {
      const hasFailed = records.hasFailed(parentCode);
      if (hasFailed || !byCode.has(parentCode)) {
        const what = hasFailed ? 'could not be synced' : 'is not among the categories';
        records.fail(category, `its parent ${parentCode} ${what}`);
        continue;
      }
    }
    if (links.get(code)?.fingerprint === hash) continue;
    const body = { code, name, parent_category_code: parentCode, status };
    const current = await records.attempt(category, async (options) => {
      const shown = await api.categories.upsert(body, options);
      const mustClear = isWithoutParent && shown.parent_category_id && isSameCode(shown.code, code);
      if (mustClear) await api.categories.update(shown.id, { parent_category_id: null }, options);
      return shown;
    });
    if (current === undefined) continue;
    if (!isSameCode(current.code, code)) {
      records.fail(category, `the service holds this code and ${JSON.stringify(current.code)} for one`);
      continue;
    }
    await saveCatalogLink(db, 'category', { code, id: current.id, fingerprint: hash });
    pushed += 1;
  }

  await records.end();
  return rows.length === 0 ? {} : { categories: rows.length, ...(pushed > 0 && { categories_pushed: pushed }) };
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
