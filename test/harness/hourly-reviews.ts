import { expect } from 'vitest';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import type { World } from './world.ts';

export const hourMs = 3_600_000;

/** A review of that moment, for `seedReviews`. */
export function reviewAt(moment: Date | number, more: Partial<SeedReview> = {}): SeedReview {
  const at = new Date(moment);
  return { product_code: 'P1', message: 'a review', score: 5, created_at: at, updated_at: at, ...more };
}

/**
 * One review an hour, or in so many hours, at whole seconds: `review 1` is the oldest, the last the newest, three hours
 * old.
 */
export function hourlyReviews(count: number, hours = 1): SeedReview[] {
  const newest = Math.floor(Date.now() / 1000) * 1000 - 3 * hourMs;
  return Array.from({ length: count }, (_, index) => {
    return reviewAt(newest - (count - 1 - index) * hours * hourMs, { message: `review ${index + 1}` });
  });
}

/** The same at the service and, synced, in the warehouse. */
export async function syncHourly(world: World, count: number): Promise<void> {
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(count));
  expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
}
