import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Counts } from './counts.ts';
import type { ExchangeFacts } from './review-api/index.ts';
import type { StatusReport } from './status-report.ts';

export type Metrics = {
  onExchange(exchange: ExchangeFacts): void;
  onStep(step: string, counts: Counts | undefined, seconds: number): void;
  readonly contentType: string;
  /** The text that Prometheus reads, what the warehouse and the queue say now included. */
  render(): Promise<string>;
};

/**
 * What this process did, counted, and how everything stands, read from `report` when somebody asks. Names and units keep
 * to Prometheus' conventions; no label holds a customer's data.
 */
export function openMetrics(report: () => Promise<StatusReport>): Metrics {
  const registry = new Registry();
  const own = { registers: [registry] };
  const requests = new Counter({
    ...{
      name: 'review_sync_requests_total',
      help: 'Requests to the review service by this process; status "none": no answer.',
    },
    ...{ labelNames: ['method', 'route', 'status'], ...own },
  });
  const latency = new Histogram({
    ...{
      name: 'review_sync_request_duration_seconds',
      help: 'From a request to the review service to its whole answer.',
    },
    ...{ labelNames: ['method', 'route'], buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60], ...own },
  });
  const records = new Counter({
    ...{
      name: 'review_sync_records_total',
      help: 'What steps of this process brought, by kind: rate() gives records per second.',
    },
    ...{ labelNames: ['step', 'kind'], ...own },
  });
  const steps = new Histogram({
    ...{ name: 'review_sync_step_duration_seconds', help: 'Windows read and slices of orders pushed by this process.' },
    ...{ labelNames: ['step', 'outcome'], buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 300], ...own },
  });
  const show = stateGauges(own);
  return {
    contentType: registry.contentType,
    onExchange({ method, path, status, durationMs }) {
      const route = routeOf(path);
      requests.inc({ method, route, status: status ?? 'none' });
      latency.observe({ method, route }, durationMs / 1000);
    },
    onStep(step, counts, seconds) {
      steps.observe({ step, outcome: counts ? 'done' : 'failed' }, seconds);
      for (const [kind, n] of Object.entries(counts ?? {})) if (n > 0) records.inc({ step, kind }, n);
    },
    async render() {
      show(await report());
      return registry.metrics();
    },
  };
}

/** Ids and codes would make a series each. */
const routeOf = (path: string) => path.replace(/\/\d+/g, '/:id');

/** Gauges of what all processes share: the same whichever process is asked. */
function stateGauges(own: { registers: Registry[] }): (report: StatusReport) => void {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name: `review_sync_${name}`, help, labelNames, ...own });
  const lag = gauge('lag_seconds', 'How far behind a flow is.', ['flow']);
  const letters = gauge('dead_letters', 'Records that could not be synced, open.', ['kind']);
  const jobs = gauge('queue_jobs', 'Jobs in the queue.', ['queue', 'state']);
  const missing = gauge('coverage_missing_days', 'Days of reviews that were not read completely.', []);
  const webhooks = gauge('webhooks_waiting', 'Webhooks that are kept and not yet applied.', []);
  const runAt = gauge('last_run_timestamp_seconds', 'When the newest run of a job ended, and how.', ['job', 'outcome']);
  return (report) => {
    for (const one of [lag, letters, jobs, runAt]) one.reset();
    for (const { flow, lagSeconds } of report.flows) if (lagSeconds !== null) lag.set({ flow }, lagSeconds);
    for (const { kind, count } of report.deadLetters) letters.inc({ kind }, count);
    for (const [queue, states] of Object.entries(report.queue.jobs)) {
      for (const [state, n] of Object.entries(states)) jobs.set({ queue, state }, n);
    }
    missing.set(report.coverage.reduce((sum, month) => sum + month.days - month.readDays, 0));
    webhooks.set(report.webhooks.waiting);
    for (const { job, outcome, finishedAt } of report.newest) {
      if (finishedAt && outcome) runAt.set({ job, outcome }, finishedAt.getTime() / 1000);
    }
  };
}
