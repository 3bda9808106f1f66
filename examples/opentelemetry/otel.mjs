import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK({ traceExporter: new OTLPTraceExporter(), instrumentations: [new UndiciInstrumentation()] });
sdk.start();
process.once('beforeExit', () => sdk.shutdown());
