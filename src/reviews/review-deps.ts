import type { ReviewApi } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import type { ReadDeps } from './read/reader.ts';

/** What planning, reading and comparing reviews works with. */
export type ReviewDeps = ReadDeps & {
  reviews: ReviewApi['reviews'];
  warehouse: Warehouse;
};
