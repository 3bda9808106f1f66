import { openShared, type SharedConnections } from '../app/app.ts';
import { type Brand, brandIdsOf, configOf } from '../app/brands.ts';
import { readDeployment } from '../app/config.ts';
import { startWebhookApplier } from '../background/apply-webhooks.ts';
import { startAlertWatcher } from '../background/watch-alerts.ts';
import { describeWithHint } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { openOutage } from '../base/outage.ts';
import { repeat, withTimeout } from '../base/timeout.ts';
import { type MeasuredApp, openMeasuredApp, type Served, sayLockWaits } from '../server/measured-app.ts';
import type { Context } from './command.ts';

/** Posts alerts and applies webhooks until closed. @param pollMs how often to look for webhooks. */
export function startBackground({ app, reports }: MeasuredApp, pollMs?: number): { close(): Promise<void> } {
  const loops = [startAlertWatcher({ ...app, warehouse: reports.warehouse }), startWebhookApplier(app, pollMs)];
  return { close: async () => void (await Promise.all(loops.map((loop) => loop?.close()))) };
}

/** Without brands. */
export const servedAlone = (measured: MeasuredApp): Served => ({
  deployment: measured.app.config,
  log: measured.app.log,
  all: () => [measured],
  notServed: () => [],
  idsOfOthers: () => [],
});

const lookEveryMs = 10_000;

/** How long start and close wait for brands to open, in milliseconds. A stuck brand must not hold up the others. */
const openingMs = 3000;

export type BeginServing = (
  measured: MeasuredApp,
  opened: AsyncDisposableStack,
  among: { shared?: SharedConnections; pollMs?: number },
) => Promise<void>;

/**
 * Opens the App of each brand, or of the only one without BRANDS_DIR, and begins its work. Every ten seconds, a brand
 * that could not be opened is tried again, a brand with a new file is opened, and a brand without its file is closed.
 *
 * @throws without BRANDS_DIR: the errors of `openMeasuredApp` and `begin`; with BRANDS_DIR: if there is no brand or no
 *   queue.
 */
export async function serveBrands(
  context: Context,
  log: Logger,
  opened: AsyncDisposableStack,
  begin: BeginServing,
): Promise<Served> {
  const [only] = context.brands();
  if (only && only.name === undefined) {
    const measured = await openMeasuredApp(configOf(only), log, opened);
    await begin(measured, opened, {});
    return servedAlone(measured);
  }
  const deployment = readDeployment(context.environment);
  const shared = opened.use(await openShared(deployment));
  sayLockWaits(deployment.warehouseDatabaseUrl, log, opened);
  const { whenOpened, close, ...brands } = openBrands(context, log, begin, shared);
  opened.defer(close);
  await whenOpened();
  return { ...brands, deployment, log };
}

/** The served brands: brands that have a file and could be opened. */
function openBrands(context: Context, log: Logger, begin: BeginServing, shared: SharedConnections) {
  let known = context.brands();
  const serving = new Map<string, { measured: MeasuredApp; stack: AsyncDisposableStack }>();
  const opening = new Map<string, Promise<void>>();
  const faults = new Map<string, string>();
  const folderOutage = openOutage(log, 'folder of the brands');
  let isClosing = false;

  function sayFault(brand: string, error: unknown): void {
    const why = describeWithHint(error);
    if (faults.get(brand) !== why) log.error({ brand, error: why }, 'the brand cannot be served; trying again');
    faults.set(brand, why);
  }

  async function open(brand: Brand, name: string): Promise<void> {
    const stack = new AsyncDisposableStack();
    // With up to ten brands, each looks for work every second. With more brands, all together look ten times a second.
    const pollMs = Math.max(1000, 100 * known.length);
    try {
      const measured = await openMeasuredApp(configOf(brand), log.child({ brand: name }), stack, shared);
      await begin(measured, stack, { shared, pollMs });
      if (isClosing) throw new Error('the process ends');
      serving.set(name, { measured, stack });
      faults.delete(name);
    } catch (error) {
      if (!isClosing) sayFault(name, error);
      await stack.disposeAsync().catch(() => {});
    } finally {
      opening.delete(name);
    }
  }

  async function look(): Promise<void> {
    try {
      known = context.brands();
      folderOutage.worked();
    } catch (error) {
      folderOutage.failed(error);
      return;
    }
    for (const [name, { stack }] of serving) {
      if (known.some((brand) => brand.name === name)) continue;
      serving.delete(name);
      log.info({ brand: name }, 'its file is gone: the brand is not served any more');
      await stack.disposeAsync().catch((error: unknown) => sayFault(name, error));
    }
    for (const brand of known) {
      const { name = '' } = brand;
      if (!serving.has(name) && !opening.has(name)) opening.set(name, open(brand, name));
    }
  }
  const looking = repeat(lookEveryMs, look);
  const others = () => known.filter(({ name = '' }) => !serving.has(name));
  const whenOpened = () =>
    withTimeout(Promise.all(opening.values()), openingMs, () => new Error('late')).catch(() => {});

  return {
    whenOpened,
    all: () => [...serving].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { measured }]) => measured),
    notServed: () => others().map(({ name: brand = '' }) => ({ brand, error: faults.get(brand) ?? 'being opened' })),
    idsOfOthers: () =>
      others().some(({ isUnread }) => isUnread)
        ? undefined
        : others().flatMap(({ environment }) => brandIdsOf(environment)),
    async close(): Promise<void> {
      isClosing = true;
      await looking.close();
      await Promise.all([whenOpened(), ...[...serving.values()].map(({ stack }) => stack.disposeAsync())]);
    },
  };
}
