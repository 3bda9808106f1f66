import type { LimitFunction } from 'p-limit';
import type { Second, Span } from '../base/time/span.ts';
import type { ReviewApi } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { listLimits } from './limits.ts';

/** Dependencies of reading lists. */
export type ReadDeps = {
  reviews: Pick<ReviewApi['reviews'], 'page'>;
  /** The zone in which the service reads dates without offset. */
  timeZone: string;
  signal: AbortSignal;
  /** The dates that a review may have. No record outside them lands or widens a plan. */
  plausible: Span;
  /** The service's limits; other ones are for tests. */
  limits?: Readonly<{ seconds: Second; pages: number; pageSize: number }>;
  /** How long to request a list if the service fails on it, in milliseconds. Default: `listGiveUpMs`. */
  giveUpAfterMs?: number | undefined;
  lists: Lists;
  /** This machine's clock. */
  now: () => Date;
};

export const limitsOf = (deps: Pick<ReadDeps, 'limits'>) => deps.limits ?? listLimits;

/** Dependencies of planning, reading and comparing reviews. */
export type ReviewDeps = ReadDeps & { reviews: ReviewApi['reviews']; warehouse: Warehouse };

/** What a process has learned about the service's lists. All windows that it reads share it. */
export type Lists = {
  /** Slots for pages that are requested or land at a time. */
  slots: LimitFunction;
  /** The page at which the last list of a long span ended. The next list is requested there first. */
  lastPageGuess: number;
  /** Records to ask for on a page: fewer than the maximum if the service shows fewer. */
  pageSize?: number;
  /** Records of the longest list. */
  mostRecords: number;
};

export const openLists = (slots: LimitFunction): Lists => ({ slots, lastPageGuess: 1, mostRecords: 0 });

/** Records to ask for on a page. */
export const pageSizeOf = (deps: ReadDeps): number => deps.lists.pageSize ?? limitsOf(deps).pageSize;
