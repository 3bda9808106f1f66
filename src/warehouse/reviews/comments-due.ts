import { type Db, listOf, write } from '../index.ts';

/**
 * A review with a number of comments that has changed. `moves`: see `sync.comments_due`. `count`: the number that the
 * last list showed. `updatedAt`: the date of the review's version in the warehouse. `fields`: the field names in its
 * `extra`.
 */
export type CommentsDue = {
  id: number;
  moves: number;
  attempts: number;
  triedAt: Date | null;
  count: number | null;
  updatedAt: Date;
  fields: string[];
};

/** Reviews that were never tried come first, the newest first, then the oldest attempts. Deleted reviews are left out. */
export const commentsDue = (db: Db, limit: number) =>
  listOf<CommentsDue>(db)`
    select review_id as id, moves, attempts, tried_at as "triedAt", comments_count as count, updated_at as "updatedAt",
      array(select jsonb_object_keys(extra)) as fields
    from sync.comments_due
    cross join lateral (select * from warehouse.reviews where id = review_id and deleted_at is null offset 0) as review
    order by tried_at nulls first, moved_at desc, review_id desc
    limit ${limit}`;

/** Notes that the comments were read, unless their number has changed again since. */
export const commentsRead = (db: Db, { id, moves }: CommentsDue) =>
  write(db)`delete from sync.comments_due where review_id = ${id} and moves = ${moves}`;

/** Notes that the service did not show the comments when asked for the review. */
export const commentsFailed = (db: Db, { id }: CommentsDue, at: Date) =>
  write(db)`update sync.comments_due set attempts = attempts + 1, tried_at = ${at} where review_id = ${id}`;
