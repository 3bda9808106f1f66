import type { LimitFunction } from 'p-limit';
import type { Second, Span } from '../base/time/span.ts';
import type { ReviewApi } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { listLimits } from './limits.ts';

/** What reading lists works with. */
export type ReadDeps = {
  reviews: Pick<ReviewApi['reviews'], 'page'>;
  /** The zone in which the service reads dates without offset. */
  timeZone: string;
  signal: AbortSignal;
  /** The dates that a review may have. Nothing outside them lands or widens a plan. */
  plausible: Span;
  /** The service's limits; other ones are for tests. */
  limits?: Readonly<{ seconds: Second; pages: number; pageSize: number }>;
  /** How long a list on which the service fails is requested, in milliseconds. Default: `listGiveUpMs`. */
  giveUpAfterMs?: number | undefined;
  lists: Lists;
  /** This machine's clock. */
  now: () => Date;
};

export const limitsOf = (deps: Pick<ReadDeps, 'limits'>) => deps.limits ?? listLimits;

/** What planning, reading and comparing reviews works with. */
export type ReviewDeps = ReadDeps & { reviews: ReviewApi['reviews']; warehouse: Warehouse };

/** What a process has seen of the service's lists, and shares over all windows that it reads. */
export type Lists = {
  /** Pages that are requested or land at a time. */
  slots: LimitFunction;
  /** The page at which the list of a long span ended last: the next one is looked at there first. */
  lastPageGuess: number;
  /** Records to ask for on a page: fewer than the most if the service shows fewer. */
  pageSize?: number;
  /** Records of the longest list. */
  mostRecords: number;
  /** How often days in which a list has shown no reviews may still be asked for. */
  voidLooks: number;
};

/** `voidLooks` of a process that has seen no list. */
export const voidLooksAtMost = 16;

export const openLists = (slots: LimitFunction): Lists => ({
  slots,
  lastPageGuess: 1,
  mostRecords: 0,
  voidLooks: voidLooksAtMost,
});

/** Records to ask for on a page. */
export const pageSizeOf = (deps: ReadDeps): number => deps.lists.pageSize ?? limitsOf(deps).pageSize;
