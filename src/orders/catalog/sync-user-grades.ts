import type { Counts } from '../../base/counts.ts';
import {
  type CallOptions,
  NotFoundError,
  type UserGrade as TheirGrade,
  UnknownOutcomeError,
} from '../../review-api/index.ts';
import { isUsableCode, readUserGrade, type UserGrade } from '../../shop/rows.ts';
import { type GradesLease, withGradesLease } from '../../warehouse/leases.ts';
import { type CatalogLink, catalogLinks, saveCatalogLink } from '../../warehouse/orders/catalog-links.ts';
import { fingerprint } from '../order/fingerprint.ts';
import { type CatalogDeps, notCleared, openAttempts, readCatalogRows, recordFailures } from './catalog-record.ts';

/**
 * Brings the service's member grades in line with the shop's (spec, "User grades"). The service gives a grade no code,
 * so the link finds it; without a link its name does. A grade that the shop renamed is renamed, not doubled.
 *
 * 1. List the grades at the service. A grade that was deleted there (404 by its id) is created again, with a new id;
 *    the next run of the orders pushes the orders with the old id again.
 * 2. Create or change what is new or changed.
 * 3. Clear the icon of a grade that has none in the shop any more.
 *
 * A grade that the shop deletes stays at the service.
 */
export async function syncUserGrades(deps: CatalogDeps): Promise<Counts> {
  const { db, api, signal } = deps;
  const rows = (await deps.shop.userGrades()) ?? [];
  const { byCode, deadLetters } = readCatalogRows('user_grade', rows, readUserGrade);
  const shopCodes = rows.map(({ row }) => row.code).filter(isUsableCode);
  const isIconSelected = rows.some(({ row }) => 'icon_url' in row);
  const attempt = await openAttempts(deps, 'user_grade');
  let pushed = 0;
  // Grades have no unique key at the service: two runs at once would both create what neither has found.
  const underLease = async (lease: GradesLease) => {
    const links = await catalogLinks(db, 'user_grade');
    const theirs = rows.length === 0 ? [] : await allGrades(deps);
    for (const [code, grade] of byCode) {
      signal.throwIfAborted();
      const fail = (reason: string) => deadLetters.push({ kind: 'user_grade', key: code, reason, payload: grade });
      const hash = fingerprint(grade);
      const link = links.get(code);
      let current = theirs.find((one) => one.id === link?.id);
      if (!current || link?.fingerprint !== hash) {
        const synced = await attempt(code, async (options) => {
          const linked = current ?? (link && (await gradeOf(deps, link.id, options)));
          const at = { current: linked, theirs, taken: taken(links, shopCodes), options, lease };
          return bringInLine(deps, grade, at);
        });
        if ('failed' in synced) {
          fail(synced.failed);
          continue;
        }
        current = synced.value;
        const saved = { code, id: current.id, fingerprint: hash };
        await saveCatalogLink(db, 'user_grade', saved);
        links.set(code, saved);
        pushed += 1;
      }
      const { id } = current;
      if (!isIconSelected || grade.iconUrl !== undefined || !current.icon_url) continue;
      // The spec does not show whether a service takes an empty address as "no icon": reading the grade does.
      const cleared = await attempt(code, async (options) => {
        await api.userGrades.update(id, { icon_url: null }, options);
        return api.userGrades.get(id, options);
      });
      if ('failed' in cleared) fail(cleared.failed);
      else if (cleared.value.icon_url) fail(`the service keeps its icon, ${notCleared}`);
    }
    await recordFailures(deps, 'user_grade', deadLetters);
  };
  const onWait = ({ owner, until }: { owner: string; until: Date }) =>
    deps.onWait?.({ reason: `${owner} is syncing the member grades`, untilMs: until.getTime() });
  await withGradesLease(db, underLease, { signal, onWait });
  return rows.length === 0 ? {} : { user_grades: rows.length, ...(pushed > 0 && { user_grades_pushed: pushed }) };
}

/** Ids of grades that a code of the shop is linked to. The link of a code that the shop has deleted does not count. */
function taken(links: ReadonlyMap<string, CatalogLink>, shopCodes: readonly string[]): ReadonlySet<number> {
  const inShop = new Set(shopCodes);
  return new Set([...links.values()].filter(({ code }) => inShop.has(code)).map(({ id }) => id));
}

async function allGrades(deps: CatalogDeps): Promise<TheirGrade[]> {
  const all: TheirGrade[] = [];
  for await (const { items } of deps.api.userGrades.listAll()) all.push(...items);
  return all;
}

/**
 * A linked grade that the list does not show; undefined where the service does not have it any more. A list may be
 * empty for a moment, and each grade would be created a second time.
 */
async function gradeOf(deps: CatalogDeps, id: number, options: CallOptions): Promise<TheirGrade | undefined> {
  try {
    return await deps.api.userGrades.get(id, options);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

type AtService = {
  current: TheirGrade | undefined;
  theirs: TheirGrade[];
  taken: ReadonlySet<number>;
  options: CallOptions;
  lease: GradesLease;
};

/**
 * Updates the linked grade, else one of the same name that no other code is linked to; creates one where there is
 * neither.
 */
async function bringInLine(deps: CatalogDeps, grade: UserGrade, at: AtService): Promise<TheirGrade> {
  const found = at.current ?? at.theirs.find((one) => one.name === grade.name && !at.taken.has(one.id));
  if (!found) return create(deps, grade, at);
  const name = found.name === grade.name ? undefined : grade.name;
  const iconUrl = found.icon_url === grade.iconUrl ? undefined : grade.iconUrl;
  if (name !== undefined || iconUrl !== undefined) {
    await deps.api.userGrades.update(found.id, { name, icon_url: iconUrl }, at.options);
  }
  return found;
}

/** After a lost response the list shows whether the grade is there. */
async function create(deps: CatalogDeps, grade: UserGrade, { taken, options, lease }: AtService): Promise<TheirGrade> {
  await lease.renew();
  try {
    return await deps.api.userGrades.create({ name: grade.name, icon_url: grade.iconUrl }, options);
  } catch (error) {
    if (!(error instanceof UnknownOutcomeError)) throw error;
    const ours = (await allGrades(deps)).find((one) => one.name === grade.name && !taken.has(one.id));
    if (!ours) throw error;
    return ours;
  }
}
