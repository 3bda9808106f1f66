import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { queryAgain } from './database.ts';

/**
 * One thing that real code did, in the order of `seq`. `tx`: equal for all that one transaction committed. `kind`:
 * `request`, a name that the test gave, or the table, and then `data` is the row before and after.
 */
export type Logged<Data = unknown> = { seq: number; tx: string; kind: string; data: Data };
export type RowChange<Row = Record<string, unknown>> = { old: Row | null; new: Row | null };
export type LoggedRequest = {
  method: string;
  path: string;
  query: Record<string, string>;
  form: Record<string, string>;
  status: number;
  /** The parsed body of the response. */
  body: unknown;
};

export type Trace = AsyncDisposable & {
  /** Where a client under observation finds the service. */
  url: string;
  note(kind: string, data: unknown): Promise<void>;
  /** All since it was opened or cleared. */
  logged(): Promise<Logged[]>;
  clear(): Promise<void>;
};

/** Put before statements with which a test itself changes a traced table: they are not recorded. */
export const untraced = `select set_config('trace.is_off', 'on', true)`;

/**
 * Records what real code does: requests to the service, and what it commits to the tables of the warehouse. Both go
 * into one table, so that one sequence orders them. A commit gets its number as the transaction ends, while its row
 * locks are held. A request gets its number after the service has carried it out and before anybody sees the response;
 * requests go through one at a time, so that their order is the service's.
 *
 * @param tables the columns that are recorded of each table.
 * @param reduced what is recorded of a request.
 */
export async function openTrace(
  { warehouseUrl, serviceUrl }: { warehouseUrl: string; serviceUrl: string },
  tables: Record<string, readonly string[]>,
  reduced: (request: LoggedRequest) => LoggedRequest = (request) => request,
): Promise<Trace> {
  const triggers = Object.entries(tables).map(([table, columns]) => {
    const given = columns.map((column) => `'${column}'`).join(', ');
    return `create constraint trigger trace after insert or update or delete on ${table}
      deferrable initially deferred for each row execute function trace.note_change(${given});`;
  });
  await queryAgain(warehouseUrl, [schema, ...triggers].join('\n'));
  const note = async (kind: string, data: unknown) =>
    void (await queryAgain(warehouseUrl, 'insert into trace.log (kind, data) values ($1, $2)', [
      kind,
      JSON.stringify(data),
    ]));
  const proxy = await startRecordingProxy(serviceUrl, (request) => note('request', reduced(request)));
  return {
    url: proxy.url,
    note,
    logged: () => queryAgain<Logged>(warehouseUrl, 'select seq::integer, tx, kind, data from trace.log order by seq'),
    clear: async () => void (await queryAgain(warehouseUrl, 'truncate trace.log')),
    [Symbol.asyncDispose]: proxy.close,
  };
}

/** Events of one transaction together, where the last of them is. */
export function transactionsOf(log: readonly Logged[]): Logged[][] {
  const byTransaction = Map.groupBy(log, (one) => one.tx);
  return [...byTransaction.values()].sort((a, b) => (a.at(-1)?.seq ?? 0) - (b.at(-1)?.seq ?? 0));
}

const schema = `
  create schema trace;
  create table trace.log (
    seq bigint generated always as identity primary key, tx text not null default pg_current_xact_id()::text,
    kind text not null, data jsonb not null
  );
  create function trace.part(given jsonb, columns text[]) returns jsonb language sql immutable as
    'select jsonb_object_agg(key, value) from jsonb_each(given) where key = any(columns)';
  create function trace.note_change() returns trigger language plpgsql as $$
  declare
    before jsonb := trace.part(to_jsonb(old), tg_argv);
    after jsonb := trace.part(to_jsonb(new), tg_argv);
  begin
    if before is distinct from after and coalesce(current_setting('trace.is_off', true), '') <> 'on' then
      insert into trace.log (kind, data)
      values (tg_table_schema || '.' || tg_table_name, jsonb_build_object('old', before, 'new', after));
    end if;
    return null;
  end $$;`;

async function startRecordingProxy(target: string, note: (request: LoggedRequest) => Promise<void>) {
  let turn: Promise<unknown> = Promise.resolve();
  const server = createServer(async (incoming, outgoing) => {
    const sent = await textOf(incoming).catch(() => undefined);
    // The client was gone before it had sent all of it.
    if (sent === undefined) return;
    const passed = turn.then(() => passOn(target, incoming, sent, note));
    turn = passed.catch(() => {});
    const response = await passed.catch(() => undefined);
    if (response === undefined) {
      incoming.socket.destroy();
      return;
    }
    for (const [name, value] of response.headers) outgoing.setHeader(name, value);
    outgoing.writeHead(response.status).end(response.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  return (await incoming.setEncoding('utf8').toArray()).join('');
}

async function passOn(
  target: string,
  { method = 'GET', url = '/', headers: asked }: IncomingMessage,
  sent: string,
  note: (request: LoggedRequest) => Promise<void>,
) {
  const type = asked['content-type'];
  const response = await fetch(`${target}${url}`, {
    method,
    ...(sent !== '' && { body: sent, headers: { 'content-type': type ?? '' } }),
  });
  const text = await response.text();
  const [path = '', search = ''] = url.split('?');
  const [form, asking] = [sent, search].map((one) => Object.fromEntries(new URLSearchParams(one)));
  const { status } = response;
  if (path !== '/oauth/token')
    await note({ method, path, query: asking ?? {}, form: form ?? {}, status, body: parsed(text) });
  const headers = ['content-type', 'location', 'link', 'date', 'retry-after'].flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { status, text, headers };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
