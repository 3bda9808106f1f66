import type { Span } from '../span.ts';
import type { Axis } from '../warehouse/schema.ts';

export type { Axis };

/** A period of reviews to be read, over the date that `axis` names. */
export type Window = Readonly<{ axis: Axis; span: Span }>;

export const windowLimits = {
  /**
   * One day less than the 45 of the spec: 44 days from midnight to midnight touch 45 calendar days, so that the period
   * is allowed however the service counts its ends, and an hour of daylight saving does not matter either.
   */
  seconds: 44 * 86_400,
  /** "page: max 30" (spec, "List reviews"). */
  pages: 30,
  /** "limit: max 100" (spec, "List reviews"). */
  pageSize: 100,
} as const;
