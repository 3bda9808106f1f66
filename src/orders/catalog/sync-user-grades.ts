import type { Counts } from '../../base/counts.ts';
import {
  type CallOptions,
  NotFoundError,
  type ReviewApi,
  type UserGrade as TheirGrade,
  UnknownOutcomeError,
  type Wait,
} from '../../review-api/index.ts';
import type { Shop } from '../../shop/index.ts';
import { isUsableCode, readUserGrade, type UserGrade } from '../../shop/rows.ts';
import { putDeadLetter, resolveDeadLettersExcept } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { type GradesLease, withGradesLease } from '../../warehouse/leases.ts';
import {
  type CatalogLink,
  catalogLinks,
  recordDifferences,
  saveCatalogLink,
} from '../../warehouse/orders/catalog-links.ts';
import { fingerprint } from '../order/fingerprint.ts';
import type { Patience } from '../requests.ts';
import { type CatalogAttempt, openAttempts, readCatalogRows } from './catalog-record.ts';

export type UserGradeDeps = {
  api: Pick<ReviewApi, 'userGrades' | 'orders'>;
  shop: Shop;
  db: Db;
  signal: AbortSignal;
  patience: Patience;
  /** Called when another process is syncing the grades. */
  onWait?: ((wait: Wait) => void) | undefined;
};

/**
 * Brings the service's member grades in line with the shop's (spec, "User grades"). The service gives a grade no code,
 * so the link finds it; without a link its name does. A grade that the shop renamed is renamed, not doubled.
 *
 * 1. List the grades at the service. A grade that was deleted there (404 by its id) is created again, with a new id;
 *    the next run of the orders pushes the orders with the old id again.
 * 2. Create or change what is new or changed.
 * 3. Clear the icon of a grade that has none in the shop any more.
 * 4. Record what cannot be brought in line: grades deleted in the shop (the service keeps them), and icons that the
 *    service does not clear.
 */
export async function syncUserGrades(deps: UserGradeDeps): Promise<Counts> {
  const rows = await deps.shop.userGrades();
  if (rows === undefined) {
    await resolveDeadLettersExcept(deps.db, 'user_grade', []);
    return {};
  }
  const { byCode, deadLetters } = readCatalogRows('user_grade', rows, readUserGrade);
  const shopCodes = rows.map(({ row }) => row.code).filter(isUsableCode);
  const isIconSelected = rows.some(({ row }) => 'icon_url' in row);
  const attempt = await openAttempts(deps, 'user_grade');
  const counts: Counts = { user_grades: rows.length };
  const notCleared: string[] = [];
  const { db, signal } = deps;
  // Grades have no unique key at the service: two runs at once would both create what neither has found.
  const underLease = async (lease: GradesLease) => {
    const links = await catalogLinks(db, 'user_grade');
    const theirs = await allGrades(deps);
    for (const [code, grade] of byCode) {
      signal.throwIfAborted();
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
          deadLetters.push({ kind: 'user_grade', key: code, reason: synced.failed, payload: grade });
          continue;
        }
        current = synced.value;
        const saved = { code, id: current.id, fingerprint: hash };
        await saveCatalogLink(db, 'user_grade', saved);
        links.set(code, saved);
        counts.user_grades_pushed = (counts.user_grades_pushed ?? 0) + 1;
      }
      const mustClear = isIconSelected && grade.iconUrl === undefined && (current.icon_url ?? '') !== '';
      if (mustClear && !(await clearIcon(deps, attempt, { code, id: current.id }))) notCleared.push(code);
    }
    for (const one of deadLetters) await putDeadLetter(db, one);
    await resolveDeadLettersExcept(
      db,
      'user_grade',
      deadLetters.map(({ key }) => key),
    );
    const idsAtService = theirs.map((one) => one.id);
    const extra = await recordDifferences(db, 'user_grade', { shopCodes, idsAtService, notCleared });
    if (extra.length > 0) counts.catalog_extra = extra.length;
    if (notCleared.length > 0) counts.user_grades_not_clearable = notCleared.length;
  };
  const onWait = ({ owner, until }: { owner: string; until: Date }) =>
    deps.onWait?.({ reason: `${owner} is syncing the member grades`, untilMs: until.getTime() });
  await withGradesLease(db, underLease, { signal, onWait });
  return counts;
}

/** Ids of grades that a code of the shop is linked to. The link of a code that the shop has deleted does not count. */
function taken(links: ReadonlyMap<string, CatalogLink>, shopCodes: readonly string[]): ReadonlySet<number> {
  const inShop = new Set(shopCodes);
  return new Set([...links.values()].filter(({ code }) => inShop.has(code)).map(({ id }) => id));
}

async function allGrades(deps: UserGradeDeps): Promise<TheirGrade[]> {
  const all: TheirGrade[] = [];
  for await (const { items } of deps.api.userGrades.listAll()) all.push(...items);
  return all;
}

/**
 * A linked grade that the list does not show; undefined where the service does not have it any more. A list may be
 * empty for a moment, and each grade would be created a second time.
 */
async function gradeOf(deps: UserGradeDeps, id: number, options: CallOptions): Promise<TheirGrade | undefined> {
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
async function bringInLine(deps: UserGradeDeps, grade: UserGrade, at: AtService): Promise<TheirGrade> {
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
async function create(
  deps: UserGradeDeps,
  grade: UserGrade,
  { theirs, taken, options, lease }: AtService,
): Promise<TheirGrade> {
  await lease.renew();
  try {
    const created = await deps.api.userGrades.create({ name: grade.name, icon_url: grade.iconUrl }, options);
    theirs.push(created);
    return created;
  } catch (error) {
    if (!(error instanceof UnknownOutcomeError)) throw error;
    const known = new Set(theirs.map((one) => one.id));
    const all = await allGrades(deps);
    const ours = all.find((one) => one.name === grade.name && !known.has(one.id) && !taken.has(one.id));
    if (!ours) throw error;
    theirs.push(ours);
    return ours;
  }
}

/**
 * Sends an empty icon address. The spec does not show whether a service takes that as "no icon", so this reads the
 * grade again.
 */
async function clearIcon(
  deps: UserGradeDeps,
  attempt: CatalogAttempt,
  { code, id }: { code: string; id: number },
): Promise<boolean> {
  const cleared = await attempt(code, async (options) => {
    await deps.api.userGrades.update(id, { icon_url: null }, options);
    return deps.api.userGrades.get(id, options);
  });
  return 'value' in cleared && (cleared.value.icon_url ?? '') === '';
}
