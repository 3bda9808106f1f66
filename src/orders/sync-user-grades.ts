import type { Counts } from '../counts.ts';
import {
  RefusedError,
  type ReviewApi,
  type UserGrade as TheirGrade,
  UnknownOutcomeError,
} from '../review-api/index.ts';
import type { Shop } from '../shop/index.ts';
import { readUserGrade, type UserGrade } from '../shop/rows.ts';
import { saveUserGradeLink, userGradeLinks } from '../warehouse/catalog-links.ts';
import { keyOf, type NewDeadLetter, putDeadLetter, resolveDeadLettersExcept } from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { withLocks } from '../warehouse/links.ts';
import { fingerprint } from './fingerprint.ts';

export type UserGradeDeps = { api: Pick<ReviewApi, 'userGrades'>; shop: Shop; db: Db; signal: AbortSignal };

/**
 * Brings the service's member grades in line with the shop's (spec, "User grades"). A grade has no code there, so its
 * link is kept; one whose link is lost is found by its name, and one that was renamed is renamed, not doubled.
 */
export async function syncUserGrades(deps: UserGradeDeps): Promise<Counts> {
  const rows = await deps.shop.userGrades();
  if (rows === undefined) return {};
  const counts: Counts = { user_grades: rows.length };
  const letters: NewDeadLetter[] = [];
  // Grades have no unique key at the service: two runs at once would both create what neither has found.
  await withLocks(deps.db, ['user-grades'], async (db) => {
    const links = await userGradeLinks(db);
    let theirs: TheirGrade[] | undefined;
    for (const raw of rows) {
      deps.signal.throwIfAborted();
      const read = readUserGrade(raw);
      if ('fault' in read) {
        letters.push({ kind: 'user_grade', key: raw.code || keyOf(raw), reason: read.fault, payload: raw });
        continue;
      }
      const print = fingerprint(read.row);
      if (links.get(read.row.code)?.fingerprint === print) continue;
      theirs ??= await allGrades(deps);
      try {
        const id = await bringInLine(deps, read.row, links, theirs);
        await saveUserGradeLink(db, { code: read.row.code, id, fingerprint: print });
        links.set(read.row.code, { id, fingerprint: print });
        counts.user_grades_pushed = (counts.user_grades_pushed ?? 0) + 1;
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        letters.push({ kind: 'user_grade', key: read.row.code, reason: error.message, payload: raw });
      }
    }
    for (const one of letters) await putDeadLetter(db, one);
    const failing = letters.map((one) => one.key);
    await resolveDeadLettersExcept(db, 'user_grade', failing);
  });
  return counts;
}

async function allGrades(deps: UserGradeDeps): Promise<TheirGrade[]> {
  const all: TheirGrade[] = [];
  for await (const { items } of deps.api.userGrades.listAll()) all.push(...items);
  return all;
}

/** By link, else by name among those that no other link holds; created only where neither finds one. */
async function bringInLine(
  deps: UserGradeDeps,
  grade: UserGrade,
  links: ReadonlyMap<string, { id: number }>,
  theirs: TheirGrade[],
): Promise<number> {
  const linkedId = links.get(grade.code)?.id;
  const taken = new Set([...links.values()].map((link) => link.id));
  const found =
    theirs.find((one) => one.id === linkedId) ?? theirs.find((one) => one.name === grade.name && !taken.has(one.id));
  if (!found) return create(deps, grade, theirs, taken);
  const patch = {
    ...(found.name !== grade.name && { name: grade.name }),
    ...(grade.iconUrl !== undefined && found.icon_url !== grade.iconUrl && { icon_url: grade.iconUrl }),
  };
  if (Object.keys(patch).length > 0) await deps.api.userGrades.update(found.id, patch);
  return found.id;
}

/** After a lost answer the list tells whether the grade is there. */
async function create(
  deps: UserGradeDeps,
  grade: UserGrade,
  theirs: TheirGrade[],
  taken: ReadonlySet<number>,
): Promise<number> {
  try {
    const created = await deps.api.userGrades.create({ name: grade.name, icon_url: grade.iconUrl });
    theirs.push(created);
    return created.id;
  } catch (error) {
    if (!(error instanceof UnknownOutcomeError)) throw error;
    const known = new Set(theirs.map((one) => one.id));
    const all = await allGrades(deps);
    const ours = all.find((one) => one.name === grade.name && !known.has(one.id) && !taken.has(one.id));
    if (!ours) throw error;
    theirs.push(ours);
    return ours.id;
  }
}
