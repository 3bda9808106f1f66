import { isSameCode } from '../../base/codes.ts';
import type { Counts } from '../../base/counts.ts';
import { type Category, readCategory } from '../../shop/rows.ts';
import type { OrderDeps } from '../order-deps.ts';
import { openCatalog } from './catalog.ts';

/**
 * Brings the service's categories in line with the shop's (docs/interface.md, "Categories"): upserts what is new or changed,
 * parents first whatever order the rows come in. A category becomes a dead letter if its parent is not at the service and
 * cannot be synced. The parent of a category that has none in the shop any more is cleared.
 *
 * A category that the shop deletes stays at the service. A category that was deleted there is made again once the shop changes it.
 */
export async function syncCategories(deps: OrderDeps): Promise<Counts> {
  const { categories } = deps.api;
  const catalog = await openCatalog(deps, 'category', readCategory, ['parent_code', 'parentCode']);
  for (const category of parentsFirst(catalog.byCode, catalog.fail)) {
    const { code, name, parentCode, status } = category;
    if (parentCode !== undefined && !catalog.links.has(parentCode)) {
      const hasFailed = catalog.hasFailed(parentCode);
      if (hasFailed || !catalog.byCode.has(parentCode)) {
        const what = hasFailed ? 'could not be synced' : 'is not among the categories';
        catalog.fail(category, `its parent ${parentCode} ${what}`);
        continue;
      }
    }
    if (catalog.isUnchanged(category)) continue;
    await catalog.push(category, async (options) => {
      const body = { code, name, parent_category_code: parentCode, status };
      const shown = await categories.upsert(body, options);
      const other = isSameCode(shown.code, code) ? catalog.otherCodeOf(shown.id, code) : shown.code;
      if (other !== undefined) return `the service holds this code and ${JSON.stringify(other)} for one`;
      if (catalog.isCleared(category) && shown.parent_category_id)
        await categories.update(shown.id, { parent_category_id: null }, options);
      return shown;
    });
  }
  return catalog.end();
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
