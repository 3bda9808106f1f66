/**
 * `npm run test:shops`: real shops with their orders, synced and compared with what their own APIs say.
 *
 *     npm run test:shops                     all shops
 *     npm run test:shops vendure-postgres    those whose name holds one of the texts
 *
 * For each shop: install it (once), start it, live a life of orders in it, and end it. A shop that no registry has is
 * skipped unless its variable names a folder with its source. Exit status 1 if a shop differs from the service, or
 * cannot be tried on this machine.
 */
import { ShopUnavailable } from './install.ts';
import { shops, tryShop } from './shops.ts';

// `exit` ends the shops, see processes.ts.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

const texts = process.argv.slice(2);
const chosen = Object.entries(shops).filter(
  ([name]) => texts.length === 0 || texts.some((text) => name.includes(text)),
);
if (chosen.length === 0) {
  console.error(`No shop has ${texts.join(' or ')} in its name. There are: ${Object.keys(shops).join(', ')}`);
  process.exit(2);
}

const results: string[] = [];
let isDifferent = false;
for (const [name, shop] of chosen) {
  const { source } = shop;
  if (source && !process.env[source.variable]) {
    results.push(`${name}: skipped, since ${source.variable} does not name a folder with the source (${source.what})`);
    continue;
  }
  console.log(`\n${name}`);
  try {
    const findings = await tryShop(name, shop);
    isDifferent ||= findings.length > 0;
    results.push(
      `${name}: ${findings.length === 0 ? 'the service is as the shop after every step' : `${findings.length} differences`}`,
    );
  } catch (error) {
    isDifferent = true;
    results.push(
      error instanceof ShopUnavailable
        ? `${name}: NOT TRIED. ${error.message}`
        : `${name}: broke off. ${error instanceof Error ? error.stack : error}`,
    );
  }
}
console.log(`\n${results.join('\n')}`);
process.exit(isDifferent ? 1 : 0);
