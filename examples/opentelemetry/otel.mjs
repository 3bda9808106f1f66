import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { NodeSDK } from '@opentelemetry/sdk-node';

/** The access token travels in the query of each request, and customers' data may: a span shows the path alone. */
export function withoutQuery(request) {
  const path = String(request.path).split('?')[0];
  return { 'url.full': `${request.origin}${path}`, 'url.path': path, 'url.query': '' };
}

const undici = new UndiciInstrumentation({
  startSpanHook: withoutQuery,
  // Set again after the request, in case a version of the instrumentation overwrites what the hook gave.
  requestHook: (span, request) => span.setAttributes(withoutQuery(request)),
});
const sdk = new NodeSDK({ traceExporter: new OTLPTraceExporter(), instrumentations: [undici] });
sdk.start();
process.once('beforeExit', () => sdk.shutdown());
