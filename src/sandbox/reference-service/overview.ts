import type { FastifyInstance } from 'fastify';
import type { Service } from './service.ts';

/** Review overview (docs/interface.md, "Review overview"): the bounds of what is stored, null while nothing is. */
export function overview(app: FastifyInstance, { store }: Service): void {
  app.get('/v1/reviews/overview', async () => {
    const [bounds] = await store.rows(
      `select reference_service.iso(min(created_at)) as first_review_created_at,
              reference_service.iso(max(created_at)) as last_review_created_at
       from reference_service.reviews`,
    );
    return bounds;
  });
}
