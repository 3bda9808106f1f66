import { addressOf, type CliEnd, startHere } from './cli.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type Serving = AsyncDisposable & {
  world: World;
  url: string;
  environment: Record<string, string>;
  stop(): Promise<CliEnd>;
};

/** The command `serve` on a free port, in a world of its own. An empty LOG_LEVEL is as none: it logs what is usual. */
export async function openServe(
  environment: Record<string, string> = {},
  options: WorldOptions = {},
): Promise<Serving> {
  const world = await openWorld({ shop: 'empty', ...options });
  const all = { ...world.environment, LOG_LEVEL: '', PORT: '0', ...environment };
  const cli = startHere(['serve'], all);
  const url = await addressOf(cli);
  const stop = () => {
    cli.kill('SIGTERM');
    return cli.ended;
  };
  const close = async () => {
    await stop();
    await world[Symbol.asyncDispose]();
  };
  return { world, url, environment: all, stop, [Symbol.asyncDispose]: close };
}
