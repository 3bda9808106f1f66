import { seedReviews } from '../../../src/sandbox/reference-service/seed.ts';
import type { ReferenceServiceOptions } from '../../../src/sandbox/reference-service/service.ts';
import { chapters, type Result, runChapters } from '../../conformance/run.ts';
import { cleanUp, openSession } from '../../conformance/session.ts';
import { runService } from './service.ts';

/** A service that holds one review of somebody else, with all that a review can have. */
export async function seededService(options: Partial<ReferenceServiceOptions> = {}) {
  const at = new Date(Date.now() - 3_600_000);
  const rich = {
    code: 'rich',
    product_code: 'P-1',
    message: 'Rich.',
    score: 5,
    created_at: at,
    updated_at: at,
    user_code: 'kim',
    user_name: 'Kim',
    images_count: 1,
    videos_count: 1,
    comments_count: 1,
    third_party_name: 'partner',
    sub_brand_id: 7,
    tag_name: 'tag',
    options: [{ review_option_type_id: 3, value: 'Tall' }],
  };
  return runService(options, (databaseUrl) => seedReviews(databaseUrl, [rich]));
}

/** Runs these chapters, all by default, and cleans up. */
export async function conform(url: string, names?: readonly string[], waitSeconds = 20) {
  const imageUrl = 'https://images.example.com/conformance.png';
  const session = await openSession({ url, clientId: 'demo', clientSecret: 'demo', imageUrl, waitSeconds });
  const results = await runChapters(
    session,
    chapters.filter(({ name }) => names?.includes(name) ?? true),
  );
  return { results, left: (await cleanUp(session)).left };
}

export const differing = (results: readonly Result[]) => results.filter(({ outcome }) => outcome === 'differs');
export const untold = (results: readonly Result[]) =>
  results.filter(({ outcome }) => outcome === 'cannot tell').map(({ says }) => says);
