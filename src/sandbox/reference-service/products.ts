import type { Store } from './store.ts';

export type ProductKey = { id: number | null | undefined; code: string | null | undefined };

/**
 * The id of a product. The spec has no operation that creates a product, so a product is created when a request first
 * names it. If a request names it by id and code together, the two are paired.
 *
 * @returns null if neither is given.
 */
export async function productId(rows: Store['rows'], { id, code }: ProductKey, now: Date): Promise<number | null> {
  if (typeof id === 'number') {
    const [product] = await rows<{ code: string | null }>('select code from reference_service.products where id = $1', [
      id,
    ]);
    if (product && (typeof code !== 'string' || product.code === code)) return id;
    // Without this, two requests at once would both find the id free, and one of them would then find the code taken.
    await rows(`select pg_advisory_xact_lock(hashtext('reference_service.products'))`);
    await rows(
      `insert into reference_service.products as p (id, code, updated_at) values ($1, $2, $3)
       on conflict (id) do update set code = coalesce(excluded.code, p.code), updated_at = excluded.updated_at`,
      [id, code ?? null, now],
    );
    // Ids given from outside must not be given out again.
    await rows(
      `select setval('reference_service.products_id_seq', greatest($1::bigint, last_value))
       from reference_service.products_id_seq`,
      [id],
    );
    return id;
  }
  if (typeof code !== 'string') return null;
  const [known] = await rows<{ id: number }>('select id from reference_service.products where code = $1', [code]);
  if (known) return known.id;
  const [made] = await rows<{ id: number }>(
    `insert into reference_service.products (code, updated_at) values ($1, $2)
     on conflict (code) do update set code = excluded.code returning id`,
    [code, now],
  );
  return made?.id ?? null;
}
