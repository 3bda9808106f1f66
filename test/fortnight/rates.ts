import { faultKinds } from './faults.ts';
import type { Rates } from './plan.ts';
import { serviceEvents } from './service-events.ts';
import { shopEvents } from './shop-events.ts';

/** In how many of all moments something happens that is not named below. */
const usual = 0.06;

const rates: Readonly<Record<string, number>> = {
  newOrders: 1,
  newReviews: 1,
  correctFaults: 0.25,
  returnOrders: 0.15,
  takeBackup: 0.15,
  restoreBackup: 0.015,
  salesDay: 0.01,
  massTouch: 0.03,
  reviewsOfOneSecond: 0.01,
  importedReviews: 0.02,
  reviewOfAnotherAge: 0.005,
};

export const usualRates: Rates = {
  events: Object.fromEntries(
    [...Object.keys(shopEvents), ...Object.keys(serviceEvents)].map((kind) => [kind, rates[kind] ?? usual]),
  ),
  faults: Object.fromEntries(faultKinds.map((kind) => [kind, 1])),
};
