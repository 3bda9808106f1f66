import { beyondReach, type Check } from './statement.ts';

/** A request by code is never sent without one. */
export const codeIsRequired: Check = beyondReach(
  'is not tried: without a code the same path may change or delete something else',
);
