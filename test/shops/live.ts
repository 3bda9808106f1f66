import type { Shop as ShopReader } from '../../src/shop/index.ts';
import { datesOf, differences } from './compare.ts';
import type { ReviewSync } from './review-sync.ts';
import type { Shop, Step } from './shop.ts';

/** What a life has found: a sentence for each thing that is not as expected. */
export type Findings = string[];

/**
 * A life of orders in a real shop, synced and compared after each step.
 *
 * 1. The first step places the first order. `init` must recognise the system; then `migrate`, `doctor`, `sync catalog`,
 *    `backfill orders`.
 * 2. After each other step: the orders that the shop's API now shows differently from the service must be those that
 *    the change feed shows. Then `sync orders`, or, for a change that the feed cannot see, `sync reconcile`, and again a
 *    day later. The service must be as the shop.
 * 3. At the end another run writes nothing, and `verify orders` finds no difference.
 */
export async function live(shop: Shop, sync: ReviewSync, [first, ...steps]: readonly Step[]): Promise<Findings> {
  const findings: Findings = [];
  const note = (step: string, texts: readonly string[]) => {
    console.log(`  ${texts.length === 0 ? 'ok  ' : 'NOT '} ${step}`);
    for (const text of texts) console.log(`       ${text}`);
    findings.push(...texts.map((text) => `${step}: ${text}`));
  };
  let before = { atMs: Date.now(), dates: new Set<string>() };
  const compare = async (): Promise<string[]> => {
    const service = await sync.orders();
    const texts = differences(await shop.orders(), service, before, Date.now());
    // A line that was returned and is not any more shows a date from before.
    before = { atMs: Date.now(), dates: before.dates.union(datesOf(service)) };
    return texts;
  };

  await first?.act();
  note('init recognises the system', await setUp(shop, sync));
  await sync.run('sync', 'catalog');
  await sync.run('backfill', 'orders', '--with-email');
  note(`${first?.name}: backfill orders`, await compare());
  await sync.run('sync', 'orders');

  const reader = await sync.openShop();
  try {
    for (const { name, act, isInFeed } of steps) {
      // In whole seconds, as some databases date their rows. The sync before took longer than that.
      const since = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
      await act();
      const changed = await changedOrders(shop, sync);
      const shown = await codesSince(reader, since);
      const texts = isInFeed ? missing(changed, shown) : unexpected(changed, shown);
      if (isInFeed) await sync.run('sync', 'orders');
      else {
        // An order that is gone from the shop is deleted at the service by the second reconcile, a day later.
        await sync.run('sync', 'reconcile');
        await sync.passDay();
        await sync.run('sync', 'reconcile');
      }
      note(name, [...texts, ...(await compare())]);
    }
  } finally {
    await reader.close();
  }

  const writes = sync.writes();
  await sync.run('sync', 'orders');
  await sync.run('sync', 'reconcile');
  note('another sync writes nothing', sync.writes() === writes ? [] : [`it wrote ${sync.writes() - writes} times`]);
  const verified = await sync.tryRun('verify', 'orders');
  note('verify orders finds no difference', verified.status === 0 ? [] : [verified.output]);
  return findings;
}

async function setUp(shop: Shop, sync: ReviewSync): Promise<string[]> {
  const output = await sync.run('init');
  await sync.run('migrate');
  await sync.knowProducts(await shop.products());
  // On a busy machine a system may not respond within the 8 s that the doctor gives it.
  const first = await sync.tryRun('doctor');
  const doctor = first.status === 0 ? first.output : await sync.run('doctor');
  console.log(doctor.slice(doctor.indexOf('shop\n'), doctor.indexOf('service\n')));
  return output.includes(`(preset ${shop.preset})`) ? [] : [`it says: ${output}`];
}

/** Codes of the orders that are not as the shop's API says. */
async function changedOrders(shop: Shop, sync: ReviewSync): Promise<string[]> {
  const service = await sync.orders();
  const texts = differences(await shop.orders(), service, { atMs: 0, dates: datesOf(service) }, Date.now());
  return [...new Set(texts.map((text) => text.split(/[: ]/)[0] ?? ''))];
}

const missing = (changed: readonly string[], shown: ReadonlySet<string>) =>
  changed.filter((code) => !shown.has(code)).map((code) => `the feed does not show ${code}`);

function unexpected(changed: readonly string[], shown: ReadonlySet<string>): string[] {
  if (changed.length === 0) return ['nothing of it would be sent: the step proves nothing'];
  return changed.every((code) => shown.has(code)) ? ['the feed shows it, although the step says that it cannot'] : [];
}

/** Orders that the change feed of the preset shows since then, as `sync orders` reads it. */
async function codesSince(shop: ShopReader, at: string): Promise<Set<string>> {
  const { keys } = await shop.orderCodes({ axis: 'updated', after: { at, code: '' }, size: 1000 });
  return new Set(keys.map(({ code }) => code));
}
