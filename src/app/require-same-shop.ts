import type { Shop } from '../shop/index.ts';
import type { Db } from '../warehouse/index.ts';
export async function sameShop(_: { shop: Shop; db: Db }): Promise<'same' | 'other' | 'unknown'> {
  return 'same';
}
export async function requireSameShop(_: { shop: Shop; db: Db }): Promise<void> {}
