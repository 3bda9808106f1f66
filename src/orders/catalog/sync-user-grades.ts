import type { Counts } from '../../base/counts.ts';
import {
  type CallOptions,
  NotFoundError,
  type UserGrade as TheirGrade,
  UnknownOutcomeError,
} from '../../review-api/index.ts';
import { readUserGrade, type UserGrade } from '../../shop/rows.ts';
import { catalogLinks, saveCatalogLink, withGradesLocked } from '../../warehouse/orders/catalog-links.ts';
import type { OrderDeps } from '../order-deps.ts';
import { isSameInAnyCase, isSameText } from '../plan/same-value.ts';
import { openCatalog } from './catalog.ts';

/**
 * Brings the service's member grades in line with the shop's (docs/interface.md, "User grades"). The service gives a grade
 * no code, so the link finds it; without a link its name does. A grade that the shop renamed is renamed, not doubled.
 *
 * 1. Find the grade by its link: in the list of all grades, or, if the list does not show it, by its id. A grade that was
 *    deleted there (404) is created again, with a new id; the next run of the orders pushes the orders with the old id again.
 * 2. Create or change what is new or changed. Clear the icon of a grade that has none in the shop any more.
 *
 * A grade that the shop deletes stays at the service.
 */
export async function syncUserGrades(deps: OrderDeps): Promise<Counts> {
  const catalog = await openCatalog(deps, 'user_grade', readUserGrade, ['icon_url', 'iconUrl']);
  let listed: Promise<TheirGrade[]> | undefined;
  for (const grade of catalog.byCode.values()) {
    await catalog.push(grade, async (options) => {
      const id = catalog.links.get(grade.code)?.id;
      // If the list cannot be read, as with one malformed grade, each grade is asked for by its id.
      if (id !== undefined) listed ??= allGrades(deps).catch(() => []);
      const known = (await listed)?.find((one) => one.id === id);
      const linked = known ?? (id === undefined ? undefined : await gradeOf(deps, id, options));
      if (linked && catalog.isUnchanged(grade)) return undefined;
      const there = linked ?? (await findOrCreate(deps, grade, catalog.codes, options));
      await changeGrade(deps, grade, there, catalog.isCleared(grade), options);
      return there;
    });
  }
  return catalog.end();
}

const allGrades = async ({ api }: OrderDeps): Promise<TheirGrade[]> =>
  (await Array.fromAsync(api.userGrades.listAll())).flatMap(({ items }) => items);

/** A linked grade; undefined if the service does not have it any more. */
const gradeOf = ({ api }: OrderDeps, id: number, options: CallOptions): Promise<TheirGrade | undefined> =>
  api.userGrades.get(id, options).catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    return undefined;
  });

/**
 * The grade of this name, best in the same case, that no other code of the shop is linked to, else a new one; linked without
 * a fingerprint. Grades have no unique key at the service, and two runs at once would both create what neither has found: so
 * one at a time looks and creates. If its connection is lost, the next run finds the grade by its name.
 */
const findOrCreate = (
  deps: OrderDeps,
  { code, name, iconUrl }: UserGrade,
  inShop: ReadonlySet<string>,
  options: CallOptions,
): Promise<TheirGrade> =>
  withGradesLocked(deps.db, async (trx) => {
    const shown = await allGrades(deps);
    // Read after the list: it fails if the lock was lost meanwhile.
    const links = [...(await catalogLinks(trx, 'user_grade')).values()];
    // The link of a code that the shop has deleted does not count.
    const taken = new Set(links.filter((one) => one.code !== code && inShop.has(one.code)).map(({ id }) => id));
    const ours = (grades: readonly TheirGrade[]) => {
      const free = grades.filter(({ id }) => !taken.has(id));
      return free.find((one) => isSameText(one.name, name)) ?? free.find((one) => isSameInAnyCase(one.name, name));
    };
    const create = async () => {
      try {
        return await deps.api.userGrades.create({ name, icon_url: iconUrl }, options);
      } catch (error) {
        // After a lost response the list shows whether the grade is there, maybe by another name.
        const known = new Set([...shown.map(({ id }) => id), ...taken]);
        const added =
          error instanceof UnknownOutcomeError ? (await allGrades(deps)).filter(({ id }) => !known.has(id)) : [];
        const found = ours(added) ?? (added.length === 1 ? added[0] : undefined);
        if (!found) throw error;
        return found;
      }
    };
    const grade = ours(shown) ?? (await create());
    await saveCatalogLink(trx, 'user_grade', { code, id: grade.id, fingerprint: '' });
    return grade;
  });

/** Changes what the grade at the service has otherwise. */
async function changeGrade(
  { api }: OrderDeps,
  { name, iconUrl }: UserGrade,
  found: TheirGrade,
  isWithoutIcon: boolean,
  options: CallOptions,
): Promise<void> {
  const icon = isWithoutIcon && found.icon_url ? null : iconUrl;
  const change = {
    name: isSameText(found.name, name) ? undefined : name,
    icon_url: icon === found.icon_url ? undefined : icon,
  };
  if (Object.values(change).some((value) => value !== undefined))
    await api.userGrades.update(found.id, change, options);
}
