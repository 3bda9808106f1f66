import type { Finding } from './judge-orders.ts';
import type { Rows, Sides } from './stage.ts';

export type ReviewFacts = {
  /** Ids that were listed late, since the last complete reconcile. */
  unseen: ReadonlySet<number>;
  /** Only these reviews must be in the warehouse. Default: all. */
  only?: ReadonlySet<number>;
  isReconciled: boolean;
  /** First day on which a review differed, by id: old ones are read again within a month. Kept from day to day. */
  differsSince: Map<string, number>;
  day: number;
};

const milliseconds = (date: string) => `floor(extract(epoch from ${date}) * 1000)`;
const fields = (
  product: string,
) => `jsonb_build_array(r.display, r.message, r.score, r.user_name, r.user_code, r.likes_count, r.order_code,
  ${milliseconds('r.created_at')}, ${milliseconds('r.updated_at')}, ${product})::text as state`;

const atServiceSql = `select r.id, r.created_at < '2000-01-01' as is_implausible,
  r.created_at < now() - interval '44 days' as is_old, ${fields('p.code')}
  from reference_service.reviews r left join reference_service.products p on p.id = r.product_id`;
const inWarehouseSql = `select r.id, r.deleted_at is not null as is_deleted,
  r.created_at < now() - interval '44 days' as is_old, ${fields('r.product_code')} from warehouse.reviews r`;

/** RECONCILE_ALL_DAYS, and some days without a run. */
const oldAtMost = 31 + 14;

/** Compares the reviews of service and warehouse, reading the tables of both. */
export async function judgeReviews(sides: Sides, facts: ReviewFacts): Promise<Finding[]> {
  const [atService, inWarehouse, letters] = await Promise.all([
    sides.atService(atServiceSql),
    sides.warehouse(inWarehouseSql),
    sides.warehouse(`select key, reason from sync.dead_letters where kind = 'review' and resolved_at is null`),
  ]);
  const deadLetters = new Map(letters.map((letter) => [String(letter.key), String(letter.reason)]));
  const held = new Map(inWarehouse.map((row) => [String(row.id), row]));
  const differences = new Map<string, { problem: string; isOld: boolean }>();
  for (const review of atService) {
    const id = String(review.id);
    const found = held.get(id);
    held.delete(id);
    if (facts.only ? !facts.only.has(Number(id)) : facts.unseen.has(Number(id))) continue;
    const problem = difference(review, found, deadLetters.get(id));
    // What was edited a moment ago is read by its date of change, however old it is.
    if (problem) differences.set(id, { problem, isOld: review.is_old === true && found === undefined });
  }
  for (const [id, row] of facts.isReconciled ? held : []) {
    if (!row.is_deleted)
      differences.set(id, {
        problem: 'is gone from the service and alive in the warehouse',
        isOld: row.is_old === true,
      });
  }
  return findings(differences, facts);
}

function difference(
  review: Rows[number],
  found: Rows[number] | undefined,
  deadLetter: string | undefined,
): string | undefined {
  if (deadLetter !== undefined) {
    return review.is_implausible ? undefined : `is a dead letter though nothing is wrong with it: ${deadLetter}`;
  }
  if (review.is_implausible) return 'has an implausible date and is no dead letter';
  if (!found) return 'is missing in the warehouse';
  if (found.is_deleted) return 'is marked as deleted, and the service has it';
  return found.state === review.state
    ? undefined
    : `is ${review.state} at the service and ${found.state} in the warehouse`;
}

function findings(differences: Map<string, { problem: string; isOld: boolean }>, facts: ReviewFacts): Finding[] {
  for (const id of facts.differsSince.keys()) if (!differences.has(id)) facts.differsSince.delete(id);
  return [...differences].flatMap(([id, { problem, isOld }]) => {
    if (!isOld) return [`review ${id} ${problem}`];
    if (!facts.differsSince.has(id)) facts.differsSince.set(id, facts.day);
    const days = facts.day - (facts.differsSince.get(id) ?? facts.day);
    return days > oldAtMost ? [`review ${id} ${problem}, for ${days} days`] : [];
  });
}
