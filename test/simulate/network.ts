import { createRequire } from 'node:module';
import type { Dispatcher as UndiciDispatcher } from 'undici';
import { doing, type Work } from './driver.ts';
import { here, type Process, within } from './scheduler.ts';

export type Request = {
  method: string;
  path: string;
  query: URLSearchParams;
  form: URLSearchParams;
  sentMs: number;
  /** The run to which the request belongs, and what else it belongs to. */
  by: Work | undefined;
};
export type Response = { status: number; headers?: Record<string, string>; body?: unknown };

/**
 * What happens to a request on its way. `arrivesMs`: when it reaches the service; undefined: never. `answersMs`: when
 * its response reaches the client; undefined: never. Both after it was sent. `instead`: what somebody between them
 * answers.
 */
export type Passage = {
  arrivesMs: number | undefined;
  answersMs: number | undefined;
  /** How the client learns that it gets no response: `refused`, nothing accepts the connection; `reset`, it breaks. */
  fails?: 'refused' | 'connect timeout' | 'reset';
  instead?: Response;
};

/** The way between processes and the service. */
export type Network = {
  passage(process: Process, request: Request): Passage;
  serve(process: Process, request: Request): Response;
};

const networks = new Map<string, Network>();
/** @param origin of the service. @param network undefined: nobody may send anything to it. */
export function useNetwork(origin: string, network: Network | undefined): void {
  if (network) networks.set(origin, network);
  else networks.delete(origin);
}

type Handler = Required<UndiciDispatcher.DispatchHandler>;

/**
 * Replaces undici's Pool before the client loads it, so requests of simulated processes never leave this process.
 * undici still decides what happens with a response, with timeouts and with an abort.
 */
export function installNetwork(): void {
  const undici = createRequire(import.meta.url)('undici') as typeof import('undici');
  const { Dispatcher, errors } = undici;

  class SimulatedPool extends Dispatcher {
    readonly #origin: string;
    readonly #connectMs: number;
    constructor(origin: string, { connect }: { connect?: { timeout?: number } } = {}) {
      super();
      this.#origin = origin;
      this.#connectMs = connect?.timeout ?? 10_000;
    }
    override dispatch(options: UndiciDispatcher.DispatchOptions, handler: UndiciDispatcher.DispatchHandler): boolean {
      const process = here.getStore();
      if (!process || !networks.has(this.#origin)) throw new Error('a request outside of a simulated process');
      send(process, this.#origin, this.#connectMs, options, handler as Handler);
      return true;
    }
    override close = async () => {};
    override destroy = async () => {};
  }
  Object.defineProperty(undici, 'Pool', { value: SimulatedPool });

  function send(
    process: Process,
    origin: string,
    connectMs: number,
    options: UndiciDispatcher.DispatchOptions,
    handler: Handler,
  ): void {
    const { scheduler } = process;
    const at = networks.get(origin) as Network;
    let isOver = false;
    const end = (how: () => void) => {
      if (isOver) return;
      isOver = true;
      within(process, how);
    };
    const controller = {
      aborted: false,
      reason: null as Error | null,
      pause: () => {},
      resume: () => {},
      abort(reason: Error) {
        controller.aborted = true;
        controller.reason = reason;
        end(() => handler.onResponseError(controller as never, reason));
      },
    };
    handler.onRequestStart(controller as never, {});
    if (isOver) return;
    const url = new URL(String(options.path), origin);
    const body = typeof options.body === 'string' ? options.body : '';
    const request: Request = {
      method: options.method,
      path: url.pathname,
      query: url.searchParams,
      form: new URLSearchParams(body),
      sentMs: scheduler.now(),
      by: doing.getStore(),
    };
    const { arrivesMs, answersMs, fails, instead } = at.passage(process, request);
    const shown = `${request.method} ${request.path}${shownParameters(request)}`;
    scheduler.tell(`http ${shown}`, process);

    const fail = (delayMs: number, error: Error) => {
      const tell = () => {
        scheduler.tell(`http ${shown} fails: ${error.message}`, process);
        handler.onResponseError(controller as never, error);
      };
      scheduler.add(delayMs, () => end(tell), process);
    };
    const limitMs = Number(options.headersTimeout ?? 60_000);
    const answer = ({ status, headers = {}, body: sent }: Response) => {
      const respond = () => {
        scheduler.tell(`http ${shown} -> ${status}`, process);
        const text = sent === undefined ? '' : typeof sent === 'string' ? sent : JSON.stringify(sent);
        const date = new Date(scheduler.now()).toUTCString();
        const all = { date, 'content-type': 'application/json', ...headers };
        handler.onResponseStart(controller as never, status, all, '');
        if (text !== '') handler.onResponseData(controller as never, Buffer.from(text));
        handler.onResponseEnd(controller as never, {});
      };
      scheduler.add(Math.max(0, (answersMs ?? 0) - (arrivesMs ?? 0)), () => end(respond), process);
    };
    if (arrivesMs !== undefined) {
      // The network has the request: it arrives even if its sender is dead by then.
      scheduler.add(
        arrivesMs,
        () => {
          const response = at.serve(process, request);
          scheduler.tell(`service carries out ${shown}: ${response.status}`, process);
          if (answersMs !== undefined && answersMs <= limitMs && fails === undefined) answer(instead ?? response);
        },
        null,
      );
    } else if (instead && answersMs !== undefined) answer(instead);
    const broken = (code: string, syscall: string) => Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
    if (fails === 'refused') fail(answersMs ?? 1, broken('ECONNREFUSED', 'connect'));
    else if (fails === 'connect timeout') fail(connectMs, new errors.ConnectTimeoutError('Connect Timeout Error'));
    else if (fails === 'reset') fail(answersMs ?? 100, broken('ECONNRESET', 'read'));
    else if (answersMs === undefined || answersMs > limitMs)
      fail(limitMs, new errors.HeadersTimeoutError('Headers Timeout Error'));
  }
}

/** Parameters without the token, for the story. */
function shownParameters({ query, form }: Request): string {
  const all = [...query, ...form].filter(([name]) => !['access_token', 'client_secret', 'client_id'].includes(name));
  return all.length === 0 ? '' : ` ${all.map(([name, value]) => `${name}=${value}`).join(' ')}`.slice(0, 200);
}
