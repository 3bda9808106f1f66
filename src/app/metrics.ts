import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Counts } from '../base/counts.ts';
import type { RequestFacts } from '../review-api/index.ts';
import type { StatusReport } from './status-report.ts';

export type Metrics = ReturnType<typeof openMetrics>;

export const metricsContentType: string = Registry.PROMETHEUS_CONTENT_TYPE;

/** The metrics of several brands in one text. */
export const renderBrands = async (all: readonly Metrics[]): Promise<string> =>
  AggregatorRegistry.aggregate(await Promise.all(all.map((one) => one.ofBrand()))).metrics();

/** Counters of this process, and gauges of the whole system. Each scrape reads `report` for the gauges. */
export function openMetrics(report: () => Promise<StatusReport>, brand?: string) {
  const registry = new Registry();
  if (brand !== undefined) registry.setDefaultLabels({ brand });
  const registers = [registry];
  const requests = new Counter({
    name: 'review_sync_requests_total',
    help: 'Requests to the review service by this process; status "none": no response.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const latency = new Histogram({
    name: 'review_sync_request_duration_seconds',
    help: 'From a request to the review service to the end of its response.',
    labelNames: ['method', 'route'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const records = new Counter({
    name: 'review_sync_records_total',
    help: 'Records of the steps of this process, by kind: rate() gives records per second.',
    labelNames: ['step', 'kind'],
    registers,
  });
  const steps = new Histogram({
    name: 'review_sync_step_duration_seconds',
    help: 'Windows read and slices of orders pushed by this process.',
    labelNames: ['step', 'outcome'],
    buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 300],
    registers,
  });
  const show = stateGauges(registers);
  return {
    onRequestEnd({ method, path, status, durationMs }: RequestFacts): void {
      const route = routeOf(path);
      requests.inc({ method, route, status: status ?? 'none' });
      latency.observe({ method, route }, durationMs / 1000);
    },
    onStep(step: string, counts: Counts | undefined, seconds: number): void {
      steps.observe({ step, outcome: counts ? 'done' : 'failed' }, seconds);
      for (const [kind, n] of Object.entries(counts ?? {})) if (n > 0) records.inc({ step, kind }, n);
    },
    async render(): Promise<string> {
      show(await report());
      return registry.metrics();
    },
    /** The metrics of one of several brands. If its state cannot be read, only the counters of this process. */
    async ofBrand(): Promise<object[]> {
      const [state] = await Promise.allSettled([report().then(show)]);
      const all = await registry.getMetricsAsJSON();
      return state.status === 'fulfilled' ? all : all.filter(({ type }) => String(type) !== 'gauge');
    },
  };
}

/** The path without ids: each id would make a series. */
const routeOf = (path: string) => path.replace(/\/\d+/g, '/:id');

/** Gauges of the whole system: every process reports the same values. */
function stateGauges(registers: Registry[]): (report: StatusReport) => void {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name: `review_sync_${name}`, help, labelNames, registers });
  const lag = gauge('lag_seconds', 'Lag of a flow.', ['flow']);
  const deadLetters = gauge('dead_letters', 'Records that could not be synced, open.', ['kind']);
  const queueUp = gauge('queue_up', '1: the queue can be read; 0: it cannot.', []);
  const steps = gauge('queue_steps', 'Steps of open runs that have not ended.', []);
  const missing = gauge(
    'coverage_missing_days',
    'Days of reviews before that of the last run that were not read completely.',
    [],
  );
  const webhooks = gauge('webhooks_waiting', 'Webhooks that are stored and not yet applied.', []);
  const runAt = gauge('last_run_timestamp_seconds', 'When the newest run of a job ended, and how.', ['job', 'outcome']);
  return (report) => {
    for (const one of [lag, deadLetters, steps, runAt]) one.reset();
    for (const { flow, lagSeconds } of report.flows) if (lagSeconds !== null) lag.set({ flow }, lagSeconds);
    for (const { kind, count } of report.deadLetters) deadLetters.inc({ kind }, count);
    steps.set(report.queue.steps ?? 0);
    queueUp.set(report.queue.error === undefined ? 1 : 0);
    missing.set(report.coverage.reduce((sum, month) => sum + month.holes, 0));
    webhooks.set(report.webhooks.waiting);
    for (const { job, outcome, finishedAt } of report.newest) {
      if (finishedAt && outcome) runAt.set({ job, outcome }, finishedAt.getTime() / 1000);
    }
  };
}
