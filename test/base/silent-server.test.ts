import type { Socket } from 'node:net';
import { sql } from 'kysely';
import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { describeError } from '../../src/base/errors.ts';
import { isTransient } from '../../src/base/lost-connections.ts';
import { queueClasses } from '../../src/queue/connection.ts';
import { openDatabase } from '../../src/shop/open-database.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { createDatabase } from '../harness/database.ts';
import { startTcpProxy } from '../harness/proxy.ts';

/** Long enough for a statement of a busy machine, short enough for a test. The tests wait at the same time. */
const silenceMs = 4000;

/** Opens one connection, and gives what runs a statement of several parts on it. */
const systems: Record<string, (url: string) => Promise<{ work(): Promise<unknown>; close(): Promise<unknown> }>> = {
  async warehouse(url) {
    const warehouse = await openWarehouse({ url, connections: 1, silenceMs });
    const work = () => warehouse.db.transaction().execute((trx) => sql`select id from sync.runs`.execute(trx));
    return { work, close: () => warehouse.close() };
  },
  async 'Postgres queue'(url) {
    const { connection, close } = await queueClasses(url, silenceMs);
    return { work: () => (connection as pg.Pool).query('select 1'), close };
  },
  async shop(url) {
    const shop = openDatabase({ url, connections: 1, timeZone: undefined, silenceMs });
    return { work: () => shop.read(async () => 1), close: () => shop.close() };
  },
};

test.concurrent.for(Object.keys(systems))(
  'a %s whose host vanished fails a statement in time, and gets a new connection',
  async (name, context) => {
    const address = new URL(await createDatabase('migrated'));
    const proxy = await startTcpProxy(Number(address.port));
    context.onTestFinished(() => proxy.close());
    Object.assign(address, { hostname: '127.0.0.1', port: String(proxy.port) });
    const system = await systems[name]?.(address.href);
    context.onTestFinished(async () => void (await system?.close()));
    await system?.work();
    // The first statement of the next work reaches nobody.
    proxy.at(1, () => {});
    const error = await system?.work().catch((reason: Error) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(describeError(error)).toContain('sent nothing for 4 s');
    if (name === 'shop') expect(error).toMatchObject({ code: 'shop' });
    expect(isTransient(error)).toBe(true);
    await system?.work();
  },
);

test('a connection without a statement in flight may be silent for any time', async () => {
  const { connection, close } = await queueClasses(await createDatabase('migrated'));
  onTestFinished(close);
  const client = await (connection as pg.Pool).connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  expect(stream.timeout).toBe(60_000);
  stream.emit('timeout');
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  client.release();
});
