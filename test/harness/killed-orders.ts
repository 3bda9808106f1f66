import { expect } from 'vitest';
import { runCli, startCli } from './cli.ts';
import { startFaultProxy } from './proxy.ts';
import { sampled } from './sampled.ts';
import { startTcpProxy } from './tcp-proxy.ts';
import type { World } from './world.ts';

type Recovery<Opened> = (world: Opened, where: unknown) => Promise<void>;

/**
 * Kills `sync orders` with SIGKILL at requests to the service, each time in a new world: before the request is carried
 * out, after it, and after it with the response lost.
 */
export async function killAtRequests<Opened extends World>(
  open: () => Promise<Opened>,
  { requests, sample }: { requests: readonly number[]; sample: number },
  expectRecovery: Recovery<Opened>,
): Promise<void> {
  const strikes = requests.flatMap((n) => (['before', 'after', 'lost'] as const).map((mode) => ({ n, mode })));
  for (const { n, mode } of sampled(strikes, sample)) {
    await using world = await open();
    const between = await startFaultProxy(world.serviceUrl);
    const command = startCli(['sync', 'orders'], { ...world.environment, REVIEW_API_BASE_URL: between.url });
    between.strike(n, mode, () => command.kill('SIGKILL'));
    expect((await command.ended).signal).toBe('SIGKILL');
    await between.close();
    await expectRecovery(world, { n, mode });
  }
}

/** Kills `sync orders` with SIGKILL at calls to the queue on Postgres, each time in a new world. */
export async function killAtQueueCalls<Opened extends World>(
  open: () => Promise<Opened>,
  { sample }: { sample: number },
  expectRecovery: Recovery<Opened>,
): Promise<void> {
  const queuePort = (world: World) => Number(new URL(world.warehouseUrl).port);
  const through = (world: World, port: number) => {
    const queue = new URL(world.warehouseUrl);
    queue.port = String(port);
    return { ...world.environment, QUEUE_URL: queue.href };
  };
  let total = 0;
  {
    await using world = await open();
    const between = await startTcpProxy(queuePort(world));
    expect((await runCli(['sync', 'orders'], through(world, between.port))).status).toBe(0);
    total = between.sent();
    await between.close();
  }
  const calls = Array.from({ length: total }, (_, index) => index + 1);
  for (const n of sampled(calls, sample)) {
    await using world = await open();
    const between = await startTcpProxy(queuePort(world));
    const command = startCli(['sync', 'orders'], through(world, between.port));
    between.at(n, () => command.kill('SIGKILL'));
    await command.ended;
    await between.close();
    await expectRecovery(world, { n, total });
  }
}
