import { UsageError } from '../../base/errors.ts';
import type { Shop } from '../../shop/index.ts';

/**
 * Stops a command before it does anything where a shop query does not match the contract (exit status 2). Errors of the shop's
 * database are left to the run, which reports them.
 */
export async function requireShopQueries(shop: Pick<Shop, 'checkQueries'>): Promise<void> {
  try {
    await shop.checkQueries();
  } catch (error) {
    if (error instanceof UsageError) throw error;
  }
}
