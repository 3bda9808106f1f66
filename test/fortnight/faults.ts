import { createRandom } from '../../src/sandbox/sample-shop/random.ts';
import type { Fate, ProxiedRequest } from '../harness/proxy.ts';
import type { ContactWatch } from './contact.ts';
import type { Happening } from './plan.ts';
import type { Database, Stage } from './stage.ts';

/** What a fault may do besides to its requests. */
export type FaultHands = {
  /** Ends the commands of the moment: asks them to, as SIGTERM does, or kills them. */
  stop(): void;
};

type Fault = (request: ProxiedRequest, hands: FaultHands, stage: Stage) => Promise<Fate> | Fate;

/** Each strikes one request, or three in a row: some 1.5 s of waiting in real time. */
const faults: Readonly<Record<string, { requests: number; writesOnly?: boolean; strike: Fault }>> = {
  responseIsLost: { requests: 1, strike: () => 'lose' },
  responseToWriteIsLost: { requests: 1, writesOnly: true, strike: () => 'lose' },
  serviceIsDown: { requests: 3, strike: () => ({ status: 503 }) },
  serviceFails: { requests: 2, strike: () => ({ status: 500 }) },
  serviceIsBusy: { requests: 2, strike: () => ({ status: 429 }) },
  proxyPage: { requests: 1, strike: () => ({ status: 200, body: '<html>Service unavailable</html>' }) },
  recordIsRefused: { requests: 1, writesOnly: true, strike: () => ({ status: 422, body: '{"error":"no"}' }) },
  carriedOutLate: {
    requests: 1,
    writesOnly: true,
    strike: () => ({ carriedOutAfter: new Promise((resolve) => setTimeout(resolve, 300)) }),
  },
  warehouseFailsOver: {
    requests: 1,
    strike: async (_request, _hands, { warehouse }): Promise<Fate> => {
      await terminateConnections(warehouse);
      return 'pass';
    },
  },
  shopFailsOver: {
    requests: 1,
    strike: async (_request, _hands, { shop }): Promise<Fate> => {
      await terminateConnections(shop);
      return 'pass';
    },
  },
  isStopped: {
    requests: 1,
    strike: (_request, { stop }) => {
      stop();
      return 'pass';
    },
  },
  isKilled: {
    requests: 1,
    strike: (_request, { stop }) => {
      stop();
      return 'lose';
    },
  },
  isStoppedBeforeResponse: {
    requests: 1,
    writesOnly: true,
    strike: (_request, { stop }) => {
      stop();
      return 'lose';
    },
  },
  tokensExpire: {
    requests: 1,
    strike: async (_request, _hands, stage): Promise<Fate> => {
      await stage.expireTokens();
      return 'pass';
    },
  },
  clockIsAhead: { requests: 2, strike: withClock(400 * 86_400) },
  clockIsBehind: { requests: 2, strike: withClock(-7200) },
};

export const faultKinds = Object.keys(faults);

/** All connections but our own. */
async function terminateConnections(database: Database): Promise<void> {
  await database(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name <> 'simulation'`);
}

/** The service's clock is wrong for the requests that follow, until the moment ends. */
function withClock(skewSeconds: number): Fault {
  return (_request, _hands, stage) => {
    stage.setServiceClock(skewSeconds);
    return 'pass';
  };
}

/**
 * The rule of the proxy for one moment: the fault strikes at one of the first requests, and the watch sees whatever the
 * service carries out.
 */
export function ruleWith(stage: Stage, watch: ContactWatch, fault: Happening | undefined, hands: FaultHands) {
  const found = fault && faults[fault.kind];
  if (fault && !found) throw new Error(`no fault ${fault.kind}`);
  // Few runs have many requests.
  let left = createRandom(fault?.seed ?? 0).weighted([
    [0, 2],
    [1, 1],
    [2, 1],
    [4, 1],
    [7, 1],
    [12, 1],
  ]);
  let strikes = found?.requests ?? 0;
  return async (request: ProxiedRequest): Promise<Fate> => {
    let fate: Fate = 'pass';
    const isMeant = found && strikes > 0 && !(found.writesOnly && request.method === 'GET');
    if (isMeant && left > 0) left -= 1;
    else if (isMeant) {
      strikes -= 1;
      fate = await found.strike(request, hands, stage);
    }
    const isCarriedOut = typeof fate === 'string' || 'carriedOutAfter' in fate;
    if (isCarriedOut) await see(request, stage, watch);
    return fate;
  };
}

async function see(request: ProxiedRequest, { atService }: Stage, watch: ContactWatch): Promise<void> {
  const [, id] = /^\/v1\/orders\/(\d+)$/.exec(request.path) ?? [];
  if (request.method === 'DELETE' && id !== undefined) {
    const [order] = await atService('select code from reference_service.orders where id = $1', [id]);
    if (order) watch.forget(String(order.code));
  }
  watch.see(request);
}
