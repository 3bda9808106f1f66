// Counts a week's reviews by score and prints an order: node examples/client.ts <order code>
import { openReviewApi } from 'review-sync/client';

const { REVIEW_API_BASE_URL = '', REVIEW_API_CLIENT_ID = '', REVIEW_API_CLIENT_SECRET = '' } = process.env;
const credentials = { clientId: REVIEW_API_CLIENT_ID, clientSecret: REVIEW_API_CLIENT_SECRET };
await using api = openReviewApi({ baseUrl: REVIEW_API_BASE_URL, ...credentials });

const weekAgo = new Date(Date.now() - 7 * 86_400_000);
const start_date = weekAgo.toLocaleDateString('sv', { timeZone: 'Asia/Seoul' }); // yyyy-mm-dd in the service's zone
const counts: Record<string, number> = {};
for await (const { items } of api.reviews.listAll({ start_date })) {
  for (const { score } of items) counts[score ?? 'none'] = (counts[score ?? 'none'] ?? 0) + 1;
}
console.log('reviews by score:', counts);

const [, , orderCode] = process.argv;
if (orderCode) console.log(await api.orders.getByCode(orderCode));
