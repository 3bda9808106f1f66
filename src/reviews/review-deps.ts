import type { LimitFunction } from 'p-limit';
import type { Second, Span } from '../base/time/span.ts';
import type { ReviewApi } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { listLimits } from './limits.ts';

/** What requesting pages of lists works with. */
export type PageDeps = {
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
};

export const limitsOf = (deps: Pick<PageDeps, 'limits'>) => deps.limits ?? listLimits;

/** What reading lists works with. */
export type ReadDeps = PageDeps & {
  pages: Pages;
  /** This machine's clock. */
  now: () => Date;
};

/** What planning, reading and comparing reviews works with. */
export type ReviewDeps = ReadDeps & { reviews: ReviewApi['reviews']; warehouse: Warehouse };

/** What a process shares over all windows. `slots`: pages that are requested or land at a time. */
export type Pages = {
  slots: LimitFunction;
  /** The page at which the list of a long span ended last: the next one is looked at there first. */
  guess: number;
  /**
   * Whether the service's numbers of the last page were right, on a list of several full pages: then a short page that
   * is named as the last one is believed to be it.
   */
  areNumbersRight: boolean;
  /** Records to ask for on a page: fewer than the most if the service shows fewer. */
  pageSize?: number;
  /** Records of the longest list. */
  longest: number;
  /** How often days in which a list has shown no reviews may still be asked for. */
  looks: number;
};

/** `looks` of a process that knows nothing of its service. */
export const looksAtMost = 16;

/** What a process knows of its service before the first list. */
export const openPages = (slots: LimitFunction): Pages => ({
  slots,
  guess: 1,
  areNumbersRight: false,
  longest: 0,
  looks: looksAtMost,
});

export const pageSizeOf = (deps: ReadDeps): number => deps.pages.pageSize ?? limitsOf(deps).pageSize;
