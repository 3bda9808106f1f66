import { Failure } from './failure.ts';
import { type Input, type Params, readInput } from './input.ts';
import type { Service } from './service.ts';
import type { Store } from './store.ts';

export type ReviewOption = { code: string | null; review_option_type_id: number; value: string; created_at: string };

/**
 * The `options` of a write (docs/interface.md, "Review option"); undefined if none are given. @throws Failure 422 in
 * a shop of the v2 form.
 */
export function readReviewOptions(input: Input, { options }: Service): ReviewOption[] | undefined {
  const items = input.list('options');
  if (items && options.reviewOptionsForm === 'v2') {
    throw new Failure(422, 'options: cannot be used in a shop of the v2 additional-information model');
  }
  return items?.map((item) => {
    const read = readInput(item as Params);
    return {
      code: read.text('code') ?? null,
      review_option_type_id: read.number('review_option_type_id') ?? 0,
      value: read.text('value') ?? '',
      created_at: read.toTheSecond('created_at') ?? '',
    };
  });
}

/** The items in the request replace the review's items; an item with a known code keeps its id. */
export async function writeReviewOptions(
  rows: Store['rows'],
  written: { reviewId: number; items: readonly ReviewOption[]; now: Date },
): Promise<void> {
  const values = [written.reviewId, JSON.stringify(written.items)];
  await rows(
    `delete from reference_service.review_options
     where review_id = $1 and (
       code is null or code not in (select i.code from jsonb_to_recordset($2::jsonb) as i (code text) where i.code is not null)
     )`,
    values,
  );
  const kept = await rows(
    `insert into reference_service.review_options as o (
       review_id, code, review_option_type_id, value, created_at, updated_at
     )
     select $1, i.code, i.review_option_type_id, i.value, i.created_at, $3
     from jsonb_to_recordset($2::jsonb) as i (
       code text, review_option_type_id bigint, value text, created_at timestamptz
     )
     on conflict (code) do update set
       review_option_type_id = excluded.review_option_type_id, value = excluded.value,
       created_at = excluded.created_at, updated_at = excluded.updated_at
     where o.review_id = excluded.review_id
     returning id`,
    [...values, written.now],
  );
  if (kept.length < written.items.length) {
    throw new Failure(422, 'options: found a code that another review has, expected one that is not taken');
  }
}
