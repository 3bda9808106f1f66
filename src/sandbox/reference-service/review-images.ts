import type { Input } from './input.ts';
import type { Service } from './service.ts';

const storedAfterMs = 1000;

/**
 * The images that a write brings, as they wait in `pending_images`: they are "stored asynchronously, so not reflected
 * at once in the response" (docs/interface.md, "Reviews").
 */
export function readImages(input: Input, now: Date): string | undefined {
  const urls = input.list('image_urls');
  return urls && JSON.stringify({ from: new Date(now.getTime() + storedAfterMs).toISOString(), urls });
}

/**
 * Shows the images whose time has come, before anything is read. The review changes at that time and not when somebody
 * looks: a reader by update date finds it.
 */
export async function showImages({ store, now }: Service): Promise<void> {
  await store.rows(
    `update reference_service.reviews set
       images = (
         select coalesce(jsonb_agg(reference_service.image_json(url) order by place), '[]')
         from jsonb_array_elements_text(pending_images -> 'urls') with ordinality as u (url, place)
       ),
       updated_at = greatest(updated_at, (pending_images ->> 'from')::timestamptz),
       pending_images = null
     where pending_images is not null and (pending_images ->> 'from')::timestamptz <= $1`,
    [now()],
  );
}
