import { type Span, type SpanOptions, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { expect, onTestFinished, test } from 'vitest';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { runToEnd } from '../../src/runs/follow-run.ts';
import { openWorld } from '../harness/world.ts';

/** An OpenTelemetry SDK as small as one can be: it keeps the names of spans. */
function recordSpans(): string[] {
  const names: string[] = [];
  const spanContext = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 };
  const tracer: Tracer = {
    startSpan(name: string, _options?: SpanOptions): Span {
      names.push(name);
      return trace.wrapSpanContext(spanContext);
    },
    startActiveSpan: () => {
      throw new Error('not used');
    },
  };
  const provider: TracerProvider = { getTracer: () => tracer };
  trace.setGlobalTracerProvider(provider);
  onTestFinished(() => trace.disable());
  return names;
}

test('with an OpenTelemetry SDK, a run and its steps are spans; it is BullMQ that makes them', async () => {
  const names = recordSpans();
  await using world = await openWorld();
  const app = await world.openApp();
  const following = { onProgress() {}, onRetry() {}, signal: new AbortController().signal };
  expect(await runToEnd(app, { job: syncCatalog }, following)).toMatchObject({ outcome: 'done' });
  expect(names).toContainEqual(expect.stringMatching(/^add review-sync-run-sync-catalog/));
  // The job of the run twice, before and after its step.
  const handled = names.filter((name) => name.startsWith('process review-sync-run-sync-catalog'));
  expect(handled).toHaveLength(3);
});
