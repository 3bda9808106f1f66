import type { App } from '../src/app.ts';
import { refreshProducts } from '../src/reviews/refresh-products.ts';
import { refreshReviews } from '../src/reviews/refresh-reviews.ts';
import type { ApplyDeps } from '../src/webhooks/apply-inbox.ts';
import { type Applying, keepApplying } from '../src/webhooks/keep-applying.ts';

/**
 * As long as the process lives: brings in what webhooks tell. It goes through no queue, because the inbox is one: a webhook
 * is in it before it is answered, and a second entry elsewhere could be lost between the two.
 */
export function applyWebhooks(app: App): Applying {
  return keepApplying(webhookDeps(app));
}

/** What webhooks are applied with. */
export function webhookDeps(app: App): ApplyDeps {
  const { warehouse, log, now, lanes } = app;
  const { timeZone } = app.config.api;
  const deps = { warehouse, now, lanes, timeZone, reviews: app.api.reviews, signal: app.abort.signal };
  return {
    ...{ warehouse, log, brandIds: app.config.webhooks.brandIds },
    refreshReviews: (hints) => refreshReviews(deps, hints),
    refreshProducts: (ids) => refreshProducts(deps, ids),
  };
}
