import { isSameCode, isUsableCode, normalText } from '../../base/codes.ts';
import type { Counts } from '../../base/counts.ts';
import { contentKey } from '../../base/json-text.ts';
import {
  type CallOptions,
  NotFoundError,
  type ReviewApi,
  type UserGrade as TheirGrade,
} from '../../review-api/index.ts';
import type { CatalogRow } from '../../shop/catalog.ts';
import { type RawRow, type Read, readCategory, readUserGrade, type UserGrade } from '../../shop/rows.ts';
import {
  failingKeys,
  type NewDeadLetter,
  putDeadLetters,
  resolveDeadLettersExcept,
} from '../../warehouse/dead-letters.ts';
import type { Warehouse } from '../../warehouse/index.ts';
import {
  type CatalogKind,
  catalogLinks,
  saveCatalogLink,
  withGradesLocked,
} from '../../warehouse/orders/catalog-links.ts';
import { awaitedProducts, learnProducts } from '../../warehouse/products.ts';
import { productPagesAtMost } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { fingerprint } from '../plan/desired-order.ts';
import { isSameInAnyCase, isSameText } from '../plan/same-value.ts';
import { openBreaker, openRequests } from '../requests.ts';

/**
 * Brings the service's categories in line with the shop's (docs/interface.md, "Categories"): upserts what is new or
 * changed, parents first. If the parent of a category is not at the service and cannot be synced, or if its parents form
 * a cycle, the category becomes a dead letter. If the shop no longer gives a category a parent, the parent at the
 * service is cleared.
 *
 * A category that the shop deletes stays at the service. If the service deleted a category, it is created again once
 * the shop changes it.
 */
export async function syncCategories(deps: OrderDeps): Promise<Counts> {
  const { categories } = deps.api;
  const catalog = await openCatalog(deps, 'category', readCategory, ['parent_code', 'parentCode']);
  const waiting = new Map(catalog.byCode);
  for (let before = 0; before !== waiting.size; ) {
    before = waiting.size;
    for (const category of waiting.values()) {
      const { code, name, parentCode, status } = category;
      if (parentCode !== undefined && waiting.has(parentCode)) continue;
      waiting.delete(code);
      if (parentCode !== undefined && !catalog.links.has(parentCode)) {
        const what = catalog.codes.has(parentCode) ? 'could not be synced' : 'is not among the categories';
        catalog.fail(category, `its parent ${parentCode} ${what}`);
        continue;
      }
      if (catalog.isUnchanged(category)) continue;
      await catalog.push(category, async (options) => {
        const shown = await categories.upsert({ code, name, parent_category_code: parentCode, status }, options);
        const other = isSameCode(shown.code, code) ? catalog.otherCodeOf(shown.id, code) : shown.code;
        if (other !== undefined) return `the service holds this code and ${JSON.stringify(other)} for one`;
        if (catalog.isCleared(category) && shown.parent_category_id)
          await categories.update(shown.id, { parent_category_id: null }, options);
        return shown;
      });
    }
  }
  for (const category of waiting.values())
    catalog.fail(category, `its parents form a cycle; the nearest is ${category.parentCode}`);
  return catalog.end();
}

/**
 * Brings the service's member grades in line with the shop's (docs/interface.md, "User grades"). A grade has no code at
 * the service, so the link finds it, or its name if there is no link. A grade renamed in the shop is renamed, not
 * doubled.
 *
 * 1. Ask for each linked grade by its id. If the service has deleted it (404), create it again, with a new id. The next
 *    run of the orders pushes the orders with the old id again.
 * 2. Create or change what is new or changed. If a grade no longer has an icon in the shop, clear it.
 *
 * A grade that the shop deletes stays at the service.
 */
export async function syncUserGrades(deps: OrderDeps): Promise<Counts> {
  const { userGrades } = deps.api;
  const catalog = await openCatalog(deps, 'user_grade', readUserGrade, ['icon_url', 'iconUrl']);
  for (const grade of catalog.byCode.values()) {
    await catalog.push(grade, async (options) => {
      const id = catalog.links.get(grade.code)?.id;
      const linked = id === undefined ? undefined : await userGrades.get(id, options).catch(undefinedIfAbsent);
      if (linked && catalog.isUnchanged(grade)) return undefined;
      const there = linked ?? (await findOrCreate(deps, grade, catalog.codes, options));
      const icon = catalog.isCleared(grade) && there.icon_url ? null : grade.iconUrl;
      const name = there.name === grade.name ? undefined : grade.name;
      const icon_url = icon === there.icon_url ? undefined : icon;
      if (name !== undefined || icon_url !== undefined) await userGrades.update(there.id, { name, icon_url }, options);
      return there;
    });
  }
  return catalog.end();
}

function undefinedIfAbsent(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}

/**
 * Finds the grade of this name, best in the same case, that no other code of the shop is linked to, or creates it.
 * Links it without a fingerprint. Grades have no unique key at the service, so two runs at once would create a grade
 * twice: a lock lets one run at a time look and create. If that run loses its connection or the response, the next run
 * finds the grade by its name.
 */
const findOrCreate = (
  { api: { userGrades }, db }: OrderDeps,
  { code, name, iconUrl }: UserGrade,
  inShop: ReadonlySet<string>,
  options: CallOptions,
): Promise<TheirGrade> =>
  withGradesLocked(db, async (trx) => {
    const shown = (await Array.fromAsync(userGrades.listAll())).flatMap(({ items }) => items);
    // Read after the list: it fails if the lock was lost meanwhile.
    const links = [...(await catalogLinks(trx, 'user_grade')).values()];
    // The link of a code that the shop has deleted does not count.
    const taken = new Set(links.filter((one) => one.code !== code && inShop.has(one.code)).map(({ id }) => id));
    const free = shown.filter(({ id }) => !taken.has(id));
    const grade =
      free.find((one) => isSameText(one.name, name)) ??
      free.find((one) => isSameInAnyCase(one.name, name)) ??
      (await userGrades.create({ name, icon_url: iconUrl }, options));
    await saveCatalogLink(trx, 'user_grade', { code, id: grade.id, fingerprint: '' });
    return grade;
  });

/**
 * Opens the shop's records of one kind, and their links.
 *
 * @param optional a column, and its field in a record. If the query selects the column and a record has no value, the
 *   service's value is cleared.
 */
async function openCatalog<T extends { code: string }>(
  deps: OrderDeps,
  kind: CatalogKind,
  read: (raw: RawRow) => Read<T>,
  [column, field]: readonly [column: string, field: keyof T],
) {
  const { db, shop } = deps;
  const query = kind === 'category' ? 'categories' : 'user_grades';
  const rows = (await shop.catalog(query)) ?? [];
  const { byCode, codes, deadLetters } = readCatalogRows(kind, rows, read);
  const failing = await failingKeys(db, kind);
  const links = await catalogLinks(db, kind);
  const isSelected = rows.some(({ row }) => column in row);
  const breaker = openBreaker();
  let pushed = 0;
  const isCleared = (record: T) => isSelected && record[field] === undefined;
  const hashOf = (record: T) => fingerprint({ ...record, isCleared: isCleared(record) });
  const fail = (record: T, reason: string): void => {
    deadLetters.push({ kind, key: record.code, reason, payload: record });
  };
  return {
    byCode,
    codes,
    links,
    fail,
    isCleared,
    isUnchanged: (record: T) => links.get(record.code)?.fingerprint === hashOf(record),
    /** Another code of the shop that is linked to the record with this id. */
    otherCodeOf: (id: number, code: string) =>
      [...links.values()].find((one) => one.id === id && one.code !== code && byCode.has(one.code))?.code,
    /**
     * Sends the requests about one record, and saves its link. The record alone fails if the service refuses it, always
     * responds with an error, or the outcome is unknown. If the service itself fails, throws the client's errors.
     *
     * @param send returns the record's id at the service, or why it failed, or undefined if nothing was to be sent.
     */
    async push(record: T, send: (options: CallOptions) => Promise<{ id: number } | string | undefined>): Promise<void> {
      const { code } = record;
      const endRecord = breaker.begin(failing.has(code));
      const sent = await openRequests(deps)(send);
      if (sent.kind === 'failed' && sent.failure === 'transient') endRecord(sent.reason);
      if (sent.kind !== 'done') return fail(record, sent.reason);
      endRecord();
      if (typeof sent.value === 'string') return fail(record, sent.value);
      if (sent.value === undefined) return;
      const link = { code, id: sent.value.id, fingerprint: hashOf(record) };
      await saveCatalogLink(db, kind, link);
      links.set(code, link);
      pushed += 1;
    },
    /** Records what failed, and closes all other dead letters of the kind. */
    async end(): Promise<Counts> {
      await putDeadLetters(db, deadLetters);
      await resolveDeadLettersExcept(db, kind, deadLetters);
      const counts: Counts = { [query]: rows.length, [`${query}_pushed`]: pushed };
      return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
    },
  };
}

/**
 * The rows of a catalog query that can be pushed, by code; the others as dead letters. If two rows have the same code,
 * nobody knows which is right: the code is one dead letter. `codes`: the codes of all rows.
 */
export function readCatalogRows<T extends { code: string }>(
  kind: CatalogKind,
  rows: readonly CatalogRow[],
  read: (raw: RawRow) => Read<T>,
) {
  const byCode = new Map<string, T>();
  const deadLetters: NewDeadLetter[] = [];
  const keyOf = ({ row }: CatalogRow) => (isUsableCode(row.code) ? normalText(row.code) : contentKey(row));
  const byKey = Map.groupBy(rows, keyOf);
  for (const [key, same] of byKey) {
    const [first] = same as [CatalogRow];
    const result = first.fault === undefined ? read(first.row) : { fault: first.fault };
    const code = isUsableCode(first.row.code) ? first.row.code : key;
    if (same.length > 1) {
      const reason = `code is there in ${same.length} rows, expected one; a join may multiply rows`;
      deadLetters.push({ kind, key: code, reason, payload: same.map(({ row }) => row) });
    } else if ('fault' in result) deadLetters.push({ kind, key: code, reason: result.fault, payload: first.row });
    else byCode.set(result.row.code, result.row);
  }
  return { byCode, codes: new Set(byKey.keys()), deadLetters };
}

/**
 * Finds the ids of products that order lines wait for. The service's order list shows the id and the code of a product
 * (docs/interface.md, "Order (list item)"). Sends nothing while no line waits.
 */
export async function learnFromOrders(
  { api, warehouse }: { api: ReviewApi; warehouse: Warehouse },
  signal: AbortSignal,
): Promise<Counts> {
  const { db } = warehouse;
  const awaited = await awaitedProducts(db);
  if (awaited === 0) return {};
  let pages = 0;
  for await (const { items } of api.orders.listAll()) {
    signal.throwIfAborted();
    const subOrders = items.flatMap((order) => order.sub_orders);
    await learnProducts(warehouse, subOrders);
    pages += 1;
    if (pages === productPagesAtMost || (await awaitedProducts(db)) === 0) break;
  }
  return { products_learned: awaited - (await awaitedProducts(db)) };
}
