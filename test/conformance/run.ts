import { type Context, openContext } from './records.ts';
import { authentication } from './sections/authentication.ts';
import { categories, category, userGrades } from './sections/catalog.ts';
import { limits } from './sections/limits.ts';
import { order, orders, subOrders } from './sections/orders.ts';
import { reviewLists } from './sections/review-list.ts';
import { review, reviewReading, reviewWriting } from './sections/reviews.ts';
import type { Session } from './session.ts';
import * as is from './statement.ts';

/** Sub-orders have no other way to be changed: `sections/orders.ts`. */
const put = [order, category, review].map(({ kind, called, text }) =>
  is.inSection('Endpoints, Update by PUT')(
    `${called} is changed by PUT /v1/${kind}/:id with fields as query parameters`,
    async ({ call, fresh, read }) => {
      const { id } = await fresh(kind, 'put');
      is.succeeds(await call('PUT', `/v1/${kind}/${id}`, { query: { [text.sent]: 'Put' } }));
      is.isSame(text.shownAs, (await read(kind, id))[text.shownAs], 'Put');
    },
  ),
);

/** The whole spec, in its parts. */
export const chapters: readonly is.Chapter[] = [
  { name: 'authentication', statements: authentication },
  { name: 'orders', statements: orders },
  { name: 'sub-orders', statements: subOrders },
  { name: 'categories', statements: categories },
  { name: 'user-grades', statements: userGrades },
  { name: 'review-reading', statements: reviewReading },
  { name: 'review-list', statements: reviewLists },
  { name: 'review-writes', statements: reviewWriting },
  { name: 'put', statements: put },
  { name: 'limits', statements: limits },
];

type Outcome =
  | { outcome: 'holds' }
  | { outcome: 'differs'; found: string; expected: string }
  | { outcome: 'cannot tell'; reason: string };
export type Result = { chapter: string; section: string; says: string } & Outcome;

/** Checks every statement, one after the other, until the run is ended. */
export async function runChapters(
  session: Session,
  chapters: readonly is.Chapter[],
  tell: (result: Result) => void = () => {},
): Promise<Result[]> {
  const context = openContext(session);
  const results: Result[] = [];
  for (const { name, statements } of chapters) {
    for (const statement of statements) {
      if (session.settings.signal?.aborted) return results;
      const { section, says } = statement;
      const result = { chapter: name, section, says, ...(await outcomeOf(context, statement)) };
      results.push(result);
      tell(result);
    }
  }
  return results;
}

async function outcomeOf(context: Context, { check }: is.Statement): Promise<Outcome> {
  try {
    await check(context);
    return { outcome: 'holds' };
  } catch (error) {
    if (error instanceof is.Differs) return { outcome: 'differs', found: error.found, expected: error.expected };
    if (error instanceof is.CannotTell) return { outcome: 'cannot tell', reason: error.message };
    return { outcome: 'cannot tell', reason: `the request failed: ${reasonOf(error)}` };
  }
}

/** The message of an error, with that of its cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

export function countsOf(results: readonly Result[]) {
  const counts = { holds: 0, differs: 0, 'cannot tell': 0 };
  for (const { outcome } of results) counts[outcome] += 1;
  return counts;
}

/** The lines of one statement, under its section's name if that differs from the one before. */
export function linesOf(result: Result, before: Result | undefined): string[] {
  const { chapter, section, says, outcome } = result;
  const isNew = before?.chapter !== chapter || before.section !== section;
  const lines = [...(isNew ? ['', `${chapter}: ${section}`] : []), `  ${outcome.padEnd(11)}  ${says}`];
  const indent = ' '.repeat(15);
  if (result.outcome === 'differs') lines.push(`${indent}found ${result.found}, expected ${result.expected}`);
  if (result.outcome === 'cannot tell') lines.push(`${indent}${result.reason}`);
  return lines;
}

/** Repeats the differences, so that nobody has to look for them among hundreds, and gives the counts. */
export function summaryOf(results: readonly Result[]): string {
  const counts = countsOf(results);
  const differing = results.filter(({ outcome }) => outcome === 'differs');
  const lines = differing.map(({ chapter, section, says }) => `  ${chapter}: ${section}: ${says}`);
  return [
    ...(lines.length > 0 ? ['What differs:', ...lines, ''] : []),
    `${counts.holds} hold, ${counts.differs} differ, ${counts['cannot tell']} cannot be judged`,
  ].join('\n');
}
